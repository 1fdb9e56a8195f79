//! Cubins as the executor loads them, whole and damaged.

mod cubins;

use cubins::cubin;
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use object::{LittleEndian, U64};
use warpweave_runtime::cubin::CubinError;
use warpweave_runtime::nvrtc::Nvrtc;
use warpweave_runtime::sass::SassError;
use warpweave_runtime::sass::execute::fault::FaultKind;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use warpweave_runtime::sass::execute::image::{Image, LoadError};
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::sass::execute::scan::Scan;
use warpweave_runtime::target::Target;

#[test]
fn an_unknown_instruction_is_named_with_its_place() {
    for name in ["a_comp.cubin", "a_mem.cubin", "c.cubin"] {
        let image = Image::load(&cubin(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let scan = Scan::of(image.machine_code());
        assert!(scan.instructions > 1000 && scan.operations.len() > 20, "{name}: {scan:?}");
        for one in scan.unexecuted {
            let site = &one.site;
            assert!(!site.function.is_empty() && !site.text.is_empty() && !one.reason.is_empty(), "{name}: {one}");
        }
    }
}

/// A kernel, compiled.
fn compiled(body: &str) -> Vec<u8> {
    let text = format!("extern \"C\" __global__ void k(unsigned* out, int n) {{ {body} }}");
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    nvrtc.compile(&text, Target::Sm90a).unwrap_or_else(|error| panic!("{error}")).bytes
}

/// Launches `k` with a buffer of a block's threads.
fn launch(image: &Image, limit: u64) -> Result<Vec<u8>, LaunchError> {
    let mut memory = GlobalMemory::default();
    let buffer = memory.add("the results", Permission::ReadWrite, &[0; 128]);
    let mut parameters = memory.address(buffer).to_le_bytes().to_vec();
    parameters.extend(5u32.to_le_bytes());
    let launch = GridLaunch {
        entry: "k",
        blocks: 1,
        threads: 32,
        shared_bytes: 256,
        parameters: &parameters,
        residency: Residency::AsRoomAllows,
    };
    let options = ExecuteOptions { limit, workers: 1, ..ExecuteOptions::default() };
    image.launch(&memory, &launch, &options).map(|_| memory.read(buffer))
}

#[test]
fn an_instruction_that_is_not_executed_faults_at_its_address() {
    let body = "int r; asm volatile(\"dp2a.lo.s32.s32 %0, %1, %2, %3;\" : \"=r\"(r) : \"r\"(out[0]), \"r\"(n), \"r\"(n)); \
                out[threadIdx.x] = r;";
    let image = Image::load(&compiled(body)).expect("it loads");
    let code = &image.machine_code().code;
    let place = code.iter().position(|code| code.text.contains("IDP.2A")).expect("it is compiled to this");
    let scan = Scan::of(image.machine_code());
    let [unexecuted] = &scan.unexecuted[..] else { panic!("{:?}", scan.unexecuted) };
    assert_eq!((unexecuted.site.function.as_str(), unexecuted.site.offset), ("k", 16 * place as u64));
    match launch(&image, 1000) {
        Err(LaunchError::Fault(fault)) => {
            assert!(matches!(fault.kind, FaultKind::Unknown { .. }) && fault.site == unexecuted.site, "{fault}");
        }
        other => panic!("{other:?}"),
    }
}

/// A file whose section of this name has its header changed.
fn with_section(file: &[u8], name: &str, change: impl Fn(&mut object::elf::SectionHeader64<LittleEndian>)) -> Vec<u8> {
    let header = FileHeader64::<LittleEndian>::parse(file).expect("it is an ELF file");
    let sections = header.sections(LittleEndian, file).expect("it has sections");
    let (index, section) = sections.section_by_name(LittleEndian, name.as_bytes()).expect("the section is there");
    let mut section = *section;
    change(&mut section);
    let bytes = object::bytes_of(&section);
    let start = header.e_shoff(LittleEndian) as usize + index.0 * bytes.len();
    let mut changed = file.to_vec();
    changed[start..start + bytes.len()].copy_from_slice(bytes);
    changed
}

#[test]
fn a_section_beyond_the_file_is_named() {
    let whole = compiled("out[threadIdx.x] = n;");
    assert!(Image::load(&whole).is_ok());
    for name in [".text.k", ".nv.info", ".nv.info.k", ".nv.constant0.k", ".symtab"] {
        let far = |section: &mut object::elf::SectionHeader64<LittleEndian>| {
            section.sh_offset = U64::new(LittleEndian, whole.len() as u64);
        };
        match Image::load(&with_section(&whole, name, far)) {
            Err(LoadError::Cubin(CubinError::Section(found))) => assert_eq!(found, name),
            other => panic!("{name}: {:?}", other.err()),
        }
    }
    for (name, size) in [(".text.k", 0), (".nv.constant0.k", 0x210), (".nv.info.k", 0)] {
        let short = |section: &mut object::elf::SectionHeader64<LittleEndian>| {
            section.sh_size = U64::new(LittleEndian, size);
        };
        match Image::load(&with_section(&whole, name, short)) {
            Err(LoadError::Cubin(CubinError::Entry { entry, .. })) => assert_eq!(entry, "k"),
            other => panic!("{name}: {:?}", other.err()),
        }
    }
}

#[test]
fn functions_are_called_through_a_table() {
    let text = "extern \"C\" {
        typedef int (*function)(int);
        __device__ __noinline__ int f(int a) { return a * 3; }
        __device__ __noinline__ int g(int a) { return a ^ 5; }
        __constant__ function table[2] = { f, g };
        __global__ void k(unsigned* out, int n) { out[threadIdx.x] = table[threadIdx.x & 1](n); }
    }";
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    let whole = nvrtc.compile(text, Target::Sm90a).unwrap_or_else(|error| panic!("{error}")).bytes;
    let left = launch(&Image::load(&whole).expect("it loads"), 1000).expect("it runs");
    let word = |place: usize| u32::from_le_bytes([left[place], left[place + 1], left[place + 2], left[place + 3]]);
    assert_eq!([word(0), word(4)], [15, 0], "each lane calls its own");
}

#[test]
fn code_that_no_disassembler_knows_is_refused_with_its_address() {
    let mut whole = compiled("out[threadIdx.x] = n;");
    let header = FileHeader64::<LittleEndian>::parse(&whole[..]).expect("it is an ELF file");
    let sections = header.sections(LittleEndian, &whole[..]).expect("it has sections");
    let (_, section) = sections.section_by_name(LittleEndian, b".text.k").expect("it has code");
    let start = section.sh_offset(LittleEndian) as usize;
    whole[start + 16..start + 32].fill(0xff);
    match Image::load(&whole) {
        Err(LoadError::Sass(SassError::Rejected { log })) => assert!(log.contains("0x00000010"), "{log}"),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn a_damaged_file_is_refused() {
    let whole = cubin("c.cubin");
    for part in 0..8 {
        let length = whole.len() * part / 8;
        assert!(Image::load(&whole[..length]).is_err(), "{length} of {} bytes are loaded", whole.len());
    }
    // Bytes of the header and of the section table, one at a time.
    let places = (0..64).chain(whole.len() - 256..whole.len());
    let step = if std::env::var_os("WARPWEAVE_FULL").is_some() { 7 } else { 41 };
    for place in places.step_by(step) {
        let mut changed = whole.clone();
        changed[place] ^= 0x5a;
        // Whatever comes of it, it is a result.
        drop(Image::load(&changed));
    }
}

#[test]
fn code_of_an_architecture_that_is_not_executed_is_refused() {
    let whole = cubin("c.cubin");
    let refused = (0x30..0x34).any(|place| {
        let mut changed = whole.clone();
        changed[place] = 120;
        matches!(Image::load(&changed), Err(LoadError::Architecture(120)))
    });
    assert!(refused, "the architecture stands in the header's flags");
    let image = Image::load(&whole).expect("it loads");
    assert!(image.check_target(Target::Sm90a).is_ok() && image.check_target(Target::Sm90).is_ok());
    assert!(matches!(image.check_target(Target::Sm80), Err(LoadError::Target { stated: Target::Sm80, found: 90 })));
}

#[test]
fn a_launch_has_the_parameters_that_the_entry_takes() {
    let image = Image::load(&cubin("c.cubin")).expect("it loads");
    let functions = &image.machine_code().functions;
    let entry = functions.first().map(|function| function.name.clone()).expect("it has a function");
    let launch = |entry: &str, threads| {
        let launch = GridLaunch {
            entry,
            blocks: 1,
            threads,
            shared_bytes: 0,
            parameters: &[0; 3],
            residency: Residency::AsRoomAllows,
        };
        image.launch(&GlobalMemory::default(), &launch, &ExecuteOptions::default())
    };
    assert!(matches!(launch(&entry, 32), Err(LaunchError::Load(LoadError::Parameters { given: 3, .. }))));
    assert!(matches!(launch("another", 32), Err(LaunchError::Load(LoadError::NoEntry { .. }))));
    for threads in [0, 31, 2048] {
        assert!(matches!(launch(&entry, threads), Err(LaunchError::Size { .. })), "{threads} threads");
    }
}
