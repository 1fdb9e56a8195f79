//! As much of ELF64, little-endian, as cubins need.

use super::CubinError;

/// A file whose section table has been read.
pub(super) struct Elf<'a> {
    pub machine: u16,
    pub abi_version: u8,
    pub flags: u32,
    sections: Vec<Section<'a>>,
}

/// A section; `bytes` is empty where the file holds none of its `size`.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub name: &'a str,
    pub bytes: &'a [u8],
    pub size: u64,
    kind: u32,
    link: u32,
}

pub(super) struct Symbol {
    pub name: String,
    pub kind: u8,
    pub other: u8,
}

const HEADER_BYTES: usize = 64;
const SECTION_HEADER_BYTES: usize = 64;
const SYMBOL_BYTES: usize = 24;
const RELOCATION_BYTES: usize = 24;
const ADDRESS_BYTES: usize = 8;
const SECTION_SYMBOLS: u32 = 2;
const SECTION_WITHOUT_BYTES: u32 = 8;

impl<'a> Elf<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, CubinError> {
        if bytes.len() < HEADER_BYTES || !bytes.starts_with(b"\x7fELF\x02\x01") {
            return Err(CubinError::NotACubin("it is no 64-bit little-endian ELF file"));
        }
        let table = usize_at(bytes, 40)?;
        let count = usize::from(u16_at(bytes, 60)?);
        let name_section = usize::from(u16_at(bytes, 62)?);
        let headers = slice(bytes, table, count * SECTION_HEADER_BYTES)?;
        let headers: Vec<&[u8]> = headers.chunks_exact(SECTION_HEADER_BYTES).collect();
        let names = headers.get(name_section).ok_or(CubinError::Damaged("it has no section names"))?;
        let names = content(bytes, names)?;
        let mut sections = Vec::new();
        for header in headers {
            sections.push(Section {
                name: text_at(names, u32_at(header, 0)? as usize)?,
                bytes: content(bytes, header)?,
                size: u64_at(header, 32)?,
                kind: u32_at(header, 4)?,
                link: u32_at(header, 40)?,
            });
        }
        Ok(Self { machine: u16_at(bytes, 18)?, abi_version: bytes[8], flags: u32_at(bytes, 48)?, sections })
    }

    /// The first section of this name.
    pub fn section(&self, name: &str) -> Option<Section<'a>> {
        self.sections.iter().copied().find(|section| section.name == name)
    }

    /// What the loader puts into a section: the byte at which each address goes, and the symbol whose address it is.
    pub fn relocations(&self, section: &str) -> Result<Vec<(u32, String)>, CubinError> {
        let Some(table) = self.section(&format!(".rela{section}")) else {
            return Ok(Vec::new());
        };
        let size = self.section(section).map_or(0, |section| section.bytes.len());
        let symbols = self.symbols()?;
        let relocation = |entry: &[u8]| {
            let symbol = symbols.get(u32_at(entry, 12)? as usize).ok_or(OUTSIDE)?;
            let offset = usize_at(entry, 0)?;
            let is_inside = offset.checked_add(ADDRESS_BYTES).is_some_and(|end| end <= size);
            let offset = u32::try_from(offset).ok().filter(|_| is_inside).ok_or(OUTSIDE)?;
            Ok((offset, symbol.name.clone()))
        };
        table.bytes.chunks_exact(RELOCATION_BYTES).map(relocation).collect()
    }

    /// The symbols in the order of their table.
    pub fn symbols(&self) -> Result<Vec<Symbol>, CubinError> {
        let Some(table) = self.sections.iter().find(|section| section.kind == SECTION_SYMBOLS) else {
            return Ok(Vec::new());
        };
        let names = self.sections.get(table.link as usize).ok_or(CubinError::Damaged("symbols have no names"))?;
        let symbol = |entry: &[u8]| {
            let name = text_at(names.bytes, u32_at(entry, 0)? as usize)?.to_owned();
            Ok(Symbol { name, kind: entry[4] & 0xf, other: entry[5] })
        };
        table.bytes.chunks_exact(SYMBOL_BYTES).map(symbol).collect()
    }
}

/// The bytes that a section header points to.
fn content<'a>(file: &'a [u8], header: &[u8]) -> Result<&'a [u8], CubinError> {
    if u32_at(header, 4)? == SECTION_WITHOUT_BYTES {
        return Ok(&[]);
    }
    slice(file, usize_at(header, 24)?, usize_at(header, 32)?)
}

fn slice(bytes: &[u8], start: usize, length: usize) -> Result<&[u8], CubinError> {
    let end = start.checked_add(length).ok_or(OUTSIDE)?;
    bytes.get(start..end).ok_or(OUTSIDE)
}

fn array<const N: usize>(bytes: &[u8], start: usize) -> Result<[u8; N], CubinError> {
    slice(bytes, start, N)?.try_into().map_err(|_| OUTSIDE)
}

fn u16_at(bytes: &[u8], start: usize) -> Result<u16, CubinError> {
    Ok(u16::from_le_bytes(array(bytes, start)?))
}

fn u32_at(bytes: &[u8], start: usize) -> Result<u32, CubinError> {
    Ok(u32::from_le_bytes(array(bytes, start)?))
}

fn u64_at(bytes: &[u8], start: usize) -> Result<u64, CubinError> {
    Ok(u64::from_le_bytes(array(bytes, start)?))
}

fn usize_at(bytes: &[u8], start: usize) -> Result<usize, CubinError> {
    usize::try_from(u64_at(bytes, start)?).map_err(|_| OUTSIDE)
}

fn text_at(names: &[u8], start: usize) -> Result<&str, CubinError> {
    let tail = names.get(start..).ok_or(OUTSIDE)?;
    let length = tail.iter().position(|&byte| byte == 0).ok_or(CubinError::Damaged("a name does not end"))?;
    std::str::from_utf8(&tail[..length]).map_err(|_| CubinError::Damaged("a name is no text"))
}

const OUTSIDE: CubinError = CubinError::Damaged("it points outside itself");

#[cfg(test)]
mod tests {
    use super::*;

    /// The addresses in a section of 16 bytes, of which one goes to this byte.
    fn addresses(byte: u64, symbol: u32) -> Result<Vec<(u32, String)>, CubinError> {
        let mut relocation = byte.to_le_bytes().to_vec();
        relocation.extend(2u32.to_le_bytes().into_iter().chain(symbol.to_le_bytes()).chain([0; 8]));
        let mut symbols = [0; 2 * SYMBOL_BYTES];
        symbols[SYMBOL_BYTES] = 1;
        let section = |name, bytes, kind| Section { name, bytes, size: 0, kind, link: 1 };
        let sections = vec![
            section(".symtab", &symbols, SECTION_SYMBOLS),
            section(".strtab", b"\0k0\0", 3),
            section(".nv.constant3", &[0; 16], 1),
            section(".rela.nv.constant3", &relocation, 4),
        ];
        Elf { machine: 0, abi_version: 0, flags: 0, sections }.relocations(".nv.constant3")
    }

    #[test]
    fn addresses_lie_in_their_section_and_are_of_symbols() {
        assert_eq!(addresses(8, 1), Ok(vec![(8, "k0".to_owned())]));
        for (byte, symbol) in [(9, 1), (1 << 40, 1), (u64::MAX, 1), (8, 2)] {
            assert_eq!(addresses(byte, symbol), Err(OUTSIDE), "byte {byte}, symbol {symbol}");
        }
    }
}
