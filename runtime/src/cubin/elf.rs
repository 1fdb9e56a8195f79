//! The parts of an ELF file that a cubin has.

use object::LittleEndian;
use object::elf::{EM_CUDA, FileHeader64, SHT_SYMTAB, STT_FUNC};
use object::read::elf::{FileHeader, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use warpweave_graph::legible::legible;

use super::CubinError;

type Header = FileHeader64<LittleEndian>;

/// A file whose section table has been read.
pub(super) struct Elf<'a> {
    bytes: &'a [u8],
    header: &'a Header,
    sections: SectionTable<'a, Header>,
}

/// A section; `bytes` is empty where the file holds none of its `size`.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    pub bytes: &'a [u8],
    pub size: u64,
}

pub(super) struct Symbol {
    pub name: String,
    pub is_function: bool,
    pub other: u8,
}

const ADDRESS_BYTES: u64 = 8;
const OUTSIDE: CubinError = CubinError::Damaged("it points outside itself");
/// What the table of symbols is called.
const SYMBOLS: &str = ".symtab";

impl<'a> Elf<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, CubinError> {
        let not_elf = |_| CubinError::NotACubin("it is no 64-bit little-endian ELF file");
        let header = Header::parse(bytes).map_err(not_elf)?;
        header.endian().map_err(not_elf)?;
        let sections = header.sections(LittleEndian, bytes).map_err(|_| OUTSIDE)?;
        Ok(Self { bytes, header, sections })
    }

    /// Whether it is for a CUDA device.
    pub fn is_for_cuda(&self) -> bool {
        self.header.e_machine(LittleEndian) == EM_CUDA
    }

    /// The version of the binary interface.
    pub fn abi_version(&self) -> u8 {
        self.header.e_ident().abi_version
    }

    /// The machine's own flags.
    pub fn flags(&self) -> u32 {
        self.header.e_flags(LittleEndian).0
    }

    /// The first section of this name.
    pub fn section(&self, name: &str) -> Result<Option<Section<'a>>, CubinError> {
        let Some((_, section)) = self.sections.section_by_name(LittleEndian, name.as_bytes()) else {
            return Ok(None);
        };
        let bytes =
            section.data(LittleEndian, self.bytes).map_err(|_| CubinError::Section(legible(name).into_owned()))?;
        Ok(Some(Section { bytes, size: section.sh_size(LittleEndian) }))
    }

    /// The addresses that the loader puts into a section: the byte of each, and the symbol whose address it is.
    pub fn relocations(&self, section: &str) -> Result<Vec<(u32, String)>, CubinError> {
        let name = format!(".rela{section}");
        let Some((_, table)) = self.sections.section_by_name(LittleEndian, name.as_bytes()) else {
            return Ok(Vec::new());
        };
        let outside = |_| CubinError::Section(name.clone());
        let Some((entries, _)) = table.rela(LittleEndian, self.bytes).map_err(outside)? else {
            return Ok(Vec::new());
        };
        let bytes = self.section(section)?.map_or(0, |section| section.bytes.len());
        let symbols = self.symbols()?;
        let relocation = |entry: &<Header as FileHeader>::Rela| {
            let number = entry.r_sym(LittleEndian, false) as usize;
            let symbol = symbols.get(number).ok_or_else(|| CubinError::Section(name.clone()))?;
            let offset = entry.r_offset(LittleEndian);
            let is_inside = offset.checked_add(ADDRESS_BYTES).is_some_and(|end| end <= bytes as u64);
            match u32::try_from(offset) {
                Ok(inside) if is_inside => Ok((inside, symbol.name.clone())),
                _ => {
                    let (section, symbol) = (section.to_owned(), legible(&symbol.name).into_owned());
                    Err(CubinError::Relocation { section, symbol, offset, bytes })
                }
            }
        };
        entries.iter().map(relocation).collect()
    }

    /// The symbols in the order of their table.
    pub fn symbols(&self) -> Result<Vec<Symbol>, CubinError> {
        let outside = |_| CubinError::Section(SYMBOLS.to_owned());
        let table: SymbolTable<'_, Header> =
            self.sections.symbols(LittleEndian, self.bytes, SHT_SYMTAB).map_err(outside)?;
        let symbol = |symbol: &<Header as FileHeader>::Sym| {
            let name = symbol.name(LittleEndian, table.strings()).map_err(outside)?;
            let name = std::str::from_utf8(name).map_err(|_| CubinError::Damaged("a name is no text"))?;
            Ok(Symbol { name: name.to_owned(), is_function: symbol.st_type() == STT_FUNC, other: symbol.st_other().0 })
        };
        table.iter().map(symbol).collect()
    }
}

#[cfg(test)]
mod tests {
    use object::elf::RelocationType;
    use object::write::{Object, Relocation, StandardSegment, Symbol, SymbolSection};
    use object::{Architecture, BinaryFormat, Endianness, RelocationFlags, SectionKind};
    use object::{SymbolFlags, SymbolKind, SymbolScope};

    use super::*;

    /// The addresses in a section of 16 bytes, of which one goes to this byte.
    fn addresses(byte: u64) -> Result<Vec<(u32, String)>, CubinError> {
        let mut file = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let segment = file.segment_name(StandardSegment::Data).to_vec();
        let section = file.add_section(segment, b".nv.constant3".to_vec(), SectionKind::ReadOnlyData);
        file.append_section_data(section, &[0; 16], 8);
        let symbol = file.add_symbol(Symbol {
            name: b"k0".to_vec(),
            value: 0,
            size: 0,
            kind: SymbolKind::Text,
            scope: SymbolScope::Linkage,
            weak: false,
            section: SymbolSection::Undefined,
            flags: SymbolFlags::None,
        });
        let flags = RelocationFlags::Elf { r_type: RelocationType(2) };
        file.add_relocation(section, Relocation { offset: byte, symbol, addend: 0, flags }).expect("it can be written");
        Elf::read(&file.write().expect("it can be written"))?.relocations(".nv.constant3")
    }

    #[test]
    fn addresses_lie_in_their_section() {
        assert_eq!(addresses(8), Ok(vec![(8, "k0".to_owned())]));
        for byte in [9, 1 << 40, u64::MAX] {
            let (section, symbol) = (".nv.constant3".to_owned(), "k0".to_owned());
            assert_eq!(addresses(byte), Err(CubinError::Relocation { section, symbol, offset: byte, bytes: 16 }));
        }
    }
}
