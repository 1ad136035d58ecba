//! Interleaved timing (A, B, C, A, B, C, …), so that noise of the machine affects all crates alike.

use std::time::{Duration, Instant};

const ROUNDS: usize = 31;

/// How long each contender works in one round.
const ROUND: Duration = Duration::from_millis(4);

/// Nanoseconds a call took over the rounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timing {
    pub(crate) median: f64,
    pub(crate) min: f64,
}

/// Times `work`, which makes `calls` calls, for each contender that takes part.
pub(crate) fn interleaved<C>(
    contenders: &[Result<C, String>],
    calls: u32,
    work: impl Fn(&C),
) -> Vec<Option<Timing>> {
    let repeats: Vec<u32> = contenders
        .iter()
        .map(|contender| contender.as_ref().map_or(0, |c| repeats(|| work(c))))
        .collect();
    let mut samples = vec![Vec::with_capacity(ROUNDS); contenders.len()];
    for _ in 0..ROUNDS {
        for ((contender, samples), repeats) in contenders.iter().zip(&mut samples).zip(&repeats) {
            let Ok(contender) = contender else { continue };
            let began = Instant::now();
            for _ in 0..*repeats {
                work(contender);
            }
            let calls = f64::from(*repeats) * f64::from(calls);
            samples.push(began.elapsed().as_nanos() as f64 / calls);
        }
    }
    samples.into_iter().map(timing).collect()
}

/// How often the work fits in a round; also warms it up.
fn repeats(work: impl Fn()) -> u32 {
    let mut repeats = 1;
    loop {
        let began = Instant::now();
        for _ in 0..repeats {
            work();
        }
        if began.elapsed() * 2 > ROUND {
            return repeats;
        }
        repeats *= 2;
    }
}

fn timing(mut samples: Vec<f64>) -> Option<Timing> {
    samples.sort_by(f64::total_cmp);
    let min = *samples.first()?;
    Some(Timing { median: samples[samples.len() / 2], min })
}
