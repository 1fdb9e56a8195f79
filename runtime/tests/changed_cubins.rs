//! Cubins with changes from seeds, loaded and executed: each ends in results or in an error, in time. Needs
//! `scripts/fetch_cuda.sh`, but no GPU.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use warpweave_codegen::emulate::random::Random;
use warpweave_runtime::nvrtc::Nvrtc;
use warpweave_runtime::sass::Sass;
use warpweave_runtime::sass::execute::grid::{ExecuteOptions, GridLaunch, LaunchError, Residency};
use warpweave_runtime::sass::execute::image::{Image, LoadError};
use warpweave_runtime::sass::execute::memory::global::{GlobalMemory, Permission};
use warpweave_runtime::sass::execute::scan::Scan;
use warpweave_runtime::sass::program::MachineCode;
use warpweave_runtime::target::Target;

/// Changes of bytes that are no instructions, and as many of what the disassembler prints.
fn changes() -> u64 {
    if std::env::var_os("WARPWEAVE_FULL").is_some() { 3000 } else { 800 }
}
/// Changes of bytes of instructions, each of which is disassembled.
const INSTRUCTIONS: u64 = 24;
const LIMIT: u64 = 8000;
/// What the slowest may take on a machine that does other things, too.
const LONGEST: Duration = Duration::from_secs(10);

/// Loops, calls, tables of jumps and functions, exchanges, barriers, and every memory.
const SOURCE: &str = r#"extern "C" {
typedef float (*function)(float, int);
__device__ __noinline__ float f(float a, int n) { return a / (n + 1.0f); }
__device__ __noinline__ float g(float a, int n) { return sqrtf(a) + (float)(1.0 / (n + 3.0)); }
__constant__ function table[2] = { f, g };
__global__ void k(float* out, long long* wide, int n) {
    __shared__ float shared[64];
    float own[8];
    int lane = threadIdx.x & 31;
    for (int i = 0; i < 8; ++i) own[i] = out[(threadIdx.x + i) & 63];
    shared[threadIdx.x & 63] = own[n & 7];
    __syncthreads();
    float sum = shared[(threadIdx.x + 1) & 63];
    for (int i = 0; i < n; ++i) {
        sum = fmaf(sum, own[i & 7], __shfl_xor_sync(~0u, sum, 1));
        switch ((i + lane) % 7) {
            case 0: sum += 1; break;
            case 1: sum = log2f(sum); break;
            case 2: sum = -sum; break;
            case 3: sum *= shared[lane]; break;
            case 4: own[lane & 7] = sum; break;
            case 5: sum = __popc(i) + __clz(lane); break;
            default: sum = exp2f(sum);
        }
    }
    sum += table[lane & 1](sum, n);
    wide[threadIdx.x] = wide[lane] % (n + 7) + __double2ll_rn(sum * 3.0);
    atomicAdd((unsigned*)out + 64, __ballot_sync(~0u, sum > 0));
    __syncthreads();
    out[threadIdx.x] = sum + own[lane & 7];
}
}"#;

fn compiled() -> Vec<u8> {
    let nvrtc = Nvrtc::locate().expect("NVRTC is there: run scripts/fetch_cuda.sh");
    nvrtc.compile(SOURCE, Target::Sm90a).unwrap_or_else(|error| panic!("{error}")).bytes
}

/// Executes `k` with buffers of its own.
fn execute(image: &Image, weak: Option<u64>) -> Result<(), LaunchError> {
    let mut memory = GlobalMemory::default();
    let buffers = [
        memory.add("singles", Permission::ReadWrite, &[0x3f; 260]),
        memory.add("words", Permission::ReadWrite, &[1; 512]),
    ];
    let mut parameters: Vec<u8> = buffers.iter().flat_map(|buffer| memory.address(*buffer).to_le_bytes()).collect();
    parameters.extend(3u32.to_le_bytes());
    let launch = GridLaunch {
        entry: "k",
        blocks: 2,
        threads: 64,
        shared_bytes: 256,
        parameters: &parameters,
        residency: Residency::AllAtOnce,
    };
    let options = ExecuteOptions { limit: LIMIT, workers: 1, weak, ..ExecuteOptions::default() };
    image.launch(&memory, &launch, &options).map(|_| ())
}

/// How trials of seeds ended.
#[derive(Default, Debug)]
struct Endings {
    refused: AtomicU64,
    faulted: AtomicU64,
    executed: AtomicU64,
}

impl Endings {
    /// Loads and executes what each seed makes, on all processors.
    fn of(seeds: u64, load: impl Fn(&mut Random) -> Result<Image, LoadError> + Sync) -> Self {
        let (endings, next) = (Self::default(), AtomicU64::new(0));
        let work = || {
            loop {
                let seed = next.fetch_add(1, Ordering::Relaxed);
                if seed >= seeds {
                    break;
                }
                let tried = catch_unwind(AssertUnwindSafe(|| {
                    load(&mut Random::new(seed)).map(|image| {
                        let start = Instant::now();
                        let result = execute(&image, (seed % 4 == 0).then_some(seed));
                        assert!(start.elapsed() < LONGEST, "seed {seed} takes {:?}", start.elapsed());
                        result
                    })
                }));
                let ending = match tried.unwrap_or_else(|_| panic!("seed {seed} panics")) {
                    Err(_) | Ok(Err(LaunchError::Load(_))) => &endings.refused,
                    Ok(Err(_)) => &endings.faulted,
                    Ok(Ok(())) => &endings.executed,
                };
                ending.fetch_add(1, Ordering::Relaxed);
            }
        };
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| (0..workers).for_each(|_| drop(scope.spawn(work))));
        endings
    }

    /// Refused, faulted and executed ones, each of which there must be so many of.
    fn check(&self, what: &str, least: [u64; 3]) {
        let found = [&self.refused, &self.faulted, &self.executed].map(|count| count.load(Ordering::Relaxed));
        eprintln!("{what}: {found:?} are refused, fault and are executed");
        assert!(found.iter().zip(least).all(|(found, least)| *found >= least), "{what}: {found:?}, at least {least:?}");
    }
}

#[test]
fn files_with_other_bytes_end_in_results_or_errors() {
    let whole = compiled();
    let image = Image::load(&whole).expect("it loads");
    assert_eq!(Scan::of(image.machine_code()).unexecuted, []);
    execute(&image, None).expect("it runs");
    let machine = image.machine_code();
    let endings = Endings::of(changes(), |random| {
        let mut changed = whole.clone();
        for _ in 0..1 + random.below(4) {
            let place = random.below(changed.len());
            changed[place] = random.bits() as u8;
        }
        if random.below(8) == 0 {
            changed.truncate(random.below(whole.len()));
        }
        Image::load_changed(&changed, machine, |_| {})
    });
    endings.check("other bytes", [changes() / 20, 1, changes() / 20]);
}

#[test]
fn listings_with_other_words_end_in_results_or_errors() {
    let whole = compiled();
    let sass = Sass::of(&whole).expect("it is disassembled");
    let lines: Vec<&str> = sass.listing().lines().collect();
    let code: Vec<usize> = (0..lines.len()).filter(|line| lower_word(lines[*line]).is_some()).collect();
    let endings = Endings::of(changes(), |random| {
        let mut changed: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        for _ in 0..1 + random.below(2) {
            let place = code[random.below(code.len())];
            let other = lines[code[random.below(code.len())]];
            changed[place] = change(random, &changed[place], other);
        }
        let machine = MachineCode::parse(&changed.join("\n"))?;
        Image::load_changed(&whole, &machine, |_| {})
    });
    endings.check("other words", [1, changes() / 20, changes() / 20]);
}

/// A line with another digit, word, operand or instruction.
fn change(random: &mut Random, line: &str, other: &str) -> String {
    let (start, end) = (line.find("*/").map_or(0, |at| at + 2), line.find(';').unwrap_or(line.len()));
    let (front, text, rest) = (&line[..start], &line[start..end], &line[end..]);
    let others = &other[other.find("*/").map_or(0, |at| at + 2)..other.find(';').unwrap_or(other.len())];
    let digits: Vec<usize> =
        text.bytes().enumerate().filter(|(_, byte)| byte.is_ascii_digit()).map(|(at, _)| at).collect();
    let text = match random.below(5) {
        0 | 1 if !digits.is_empty() => {
            let at = digits[random.below(digits.len())];
            format!("{}{}{}", &text[..at], random.below(300), &text[at + 1..])
        }
        2 => {
            let mut operands: Vec<&str> = text.split(',').collect();
            let place = random.below(operands.len());
            operands[place] = others.split(',').next_back().unwrap_or("");
            operands.join(",")
        }
        3 => {
            let mut operands: Vec<&str> = text.split(',').collect();
            operands.remove(random.below(operands.len()));
            operands.join(",")
        }
        _ => others.to_owned(),
    };
    format!("{front}{text}{rest}")
}

#[test]
fn instructions_with_other_bits_end_in_results_or_errors() {
    let whole = compiled();
    let image = Image::load(&whole).expect("it loads");
    let sass = Sass::of(&whole).expect("it is disassembled");
    // The bytes of an instruction are found by the lower word that is printed beside it.
    let words: Vec<u64> = sass.listing().lines().filter_map(lower_word).collect();
    assert_eq!(words.len(), image.machine_code().code.len());
    let places: Vec<usize> = words.iter().filter_map(|word| position(&whole, &word.to_le_bytes())).collect();
    let endings = Endings::of(INSTRUCTIONS, |random| {
        let mut changed = whole.clone();
        let place = places[random.below(places.len())] + random.below(13);
        changed[place] ^= 1 << random.below(8);
        Image::load(&changed)
    });
    endings.check("other bits", [1, 1, 1]);
}

fn lower_word(line: &str) -> Option<u64> {
    let (_, rest) = line.split_once(';')?;
    u64::from_str_radix(rest.split_once("/* 0x")?.1.split_once(" */")?.0, 16).ok()
}

fn position(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.chunks_exact(wanted.len()).position(|chunk| chunk == wanted).map(|chunk| chunk * wanted.len())
}
