//! Makes a long session of a short one: `grow FILE MEGABYTES > LONG`.

use std::error::Error;
use std::io::{self, BufWriter, Write};

use streamfmt_bench::grow::grow;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, megabytes] = arguments.as_slice() else {
        return Err("usage: grow FILE MEGABYTES > LONG".into());
    };
    let size = megabytes.parse::<u64>()?.saturating_mul(1_000_000);
    let mut out = BufWriter::new(io::stdout().lock());
    grow(&std::fs::read(file)?, size, &mut out)?;
    out.flush()?;
    Ok(())
}
