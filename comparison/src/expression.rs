//! Cron expressions with the same meaning in every crate, in the notation of each.

use crate::contender::Contender;
use crate::random::Random;

/// A cron expression for all crates. They agree on five fields; with seconds, ours has seven fields, the year
/// last, and the others have six.
#[derive(Clone, Debug)]
pub struct Expression {
    /// The second field; `None` for the full minute.
    pub second: Option<String>,
    /// Minute, hour, day of month, month and day of week.
    pub fields: String,
}

impl Expression {
    /// Five fields, without seconds.
    pub fn five(fields: &str) -> Self {
        Expression { second: None, fields: fields.to_owned() }
    }

    /// The text for this crate; `Err` says why it can't be written.
    pub fn written_for(&self, contender: Contender) -> Result<String, String> {
        let Expression { second, fields } = self;
        match (contender, second) {
            (Contender::Perennial, Some(second)) => Ok(format!("{second} {fields} *")),
            (Contender::Croner | Contender::Cron, Some(second)) => Ok(format!("{second} {fields}")),
            (Contender::Cron, None) => Ok(format!("0 {fields}")),
            (Contender::Saffron, Some(_)) => Err("has no seconds".to_owned()),
            (Contender::Saffron, None) if self.restricts_both_day_fields() => {
                Err("takes a day that matches either of the day fields".to_owned())
            }
            (Contender::Perennial | Contender::Croner | Contender::Saffron, None) => {
                Ok(fields.clone())
            }
        }
    }

    fn restricts_both_day_fields(&self) -> bool {
        let mut fields = self.fields.split(' ').skip(2);
        let (day_of_month, day_of_week) = (fields.next(), fields.nth(1));
        day_of_month != Some("*") && day_of_week != Some("*")
    }

    /// Whether it has one time a day, said without a step or `*`: croner treats these apart where
    /// clocks change.
    pub fn is_fixed_time(&self) -> bool {
        let time_of_day = self.fields.split(' ').take(2).chain(self.second.as_deref());
        time_of_day.into_iter().all(|field| field.bytes().all(|byte| byte.is_ascii_digit()))
    }
}

/// The forms that a [random expression](Expression::random) may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forms {
    /// `*`, values, ranges, steps and lists; months and weekdays by name. Weekday *numbers* are
    /// left out: Sunday is 0 in ours and croner, and 1 in cron.
    Common,
    /// Also weekday numbers, `L`, `LW`, `15W`, `FRI#2` and `FRIL`, which ours shares with croner.
    WithSpecialDays,
}

const MONTHS: [&str; 12] =
    ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS: [&str; 7] = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

impl Expression {
    /// An expression of those forms.
    pub fn random(random: &mut Random, forms: Forms) -> Self {
        let second = random.once_in(3).then(|| field(random, 0, 59));
        let minute = field(random, 0, 59);
        let hour = field(random, 0, 23);
        let day_of_month = day_of_month(random, forms);
        let month = if random.once_in(3) { named(random, &MONTHS) } else { month(random) };
        let day_of_week = day_of_week(random, forms);
        let fields = format!("{minute} {hour} {day_of_month} {month} {day_of_week}");
        Expression { second, fields }
    }

    /// One time a day, at a full hour.
    pub fn random_full_hour(random: &mut Random) -> Self {
        let hour = random.within(0, 23);
        let day_of_week = if random.once_in(3) { named(random, &WEEKDAYS) } else { "*".to_owned() };
        Expression::five(&format!("0 {hour} * * {day_of_week}"))
    }
}

/// A list of one to three items that don't repeat each other.
fn field(random: &mut Random, min: i64, max: i64) -> String {
    match random.within(1, 10) {
        1..=3 => "*".to_owned(),
        4..=6 => random.within(min, max).to_string(),
        7 => format!("*/{}", random.within(2, (max - min) / 2)),
        8 => format!("{}/{}", random.within(min, (min + max) / 2), random.within(2, max / 3)),
        _ => {
            let third = (max - min) / 3;
            let items = (0..random.within(1, 3)).map(|n| {
                let (low, high) = (min + n * third, min + (n + 1) * third - 1);
                range(random, low, high)
            });
            items.collect::<Vec<_>>().join(",")
        }
    }
}

/// A value, a range, or a range with a step, within the bounds.
fn range(random: &mut Random, min: i64, max: i64) -> String {
    let start = random.within(min, max - 1);
    let end = random.within(start + 1, max);
    match random.within(1, 3) {
        1 => start.to_string(),
        2 => format!("{start}-{end}"),
        _ => format!("{start}-{end}/{}", random.within(1, end - start)),
    }
}

fn month(random: &mut Random) -> String {
    if random.once_in(2) { "*".to_owned() } else { field(random, 1, 12) }
}

fn day_of_month(random: &mut Random, forms: Forms) -> String {
    match (forms, random.within(1, 6)) {
        (_, 1..=3) => "*".to_owned(),
        (Forms::WithSpecialDays, 4) => match random.within(1, 3) {
            1 => "L".to_owned(),
            2 => "LW".to_owned(),
            _ => format!("{}W", random.within(1, 31)),
        },
        _ => field(random, 1, 31),
    }
}

fn day_of_week(random: &mut Random, forms: Forms) -> String {
    match (forms, random.within(1, 6)) {
        (_, 1..=3) => "*".to_owned(),
        (Forms::WithSpecialDays, 4) => {
            let weekday = random.pick(&WEEKDAYS);
            match random.within(1, 6) {
                nth @ 1..=5 => format!("{weekday}#{nth}"),
                _ => format!("{weekday}L"),
            }
        }
        (Forms::WithSpecialDays, 5) => range(random, 0, 7),
        _ => named(random, &WEEKDAYS),
    }
}

/// A name, or a range of two.
fn named(random: &mut Random, names: &[&str]) -> String {
    let start = random.within(0, names.len() as i64 - 2);
    let end = random.within(start + 1, names.len() as i64 - 1);
    match random.within(1, 2) {
        1 => names[start as usize].to_owned(),
        _ => format!("{}-{}", names[start as usize], names[end as usize]),
    }
}
