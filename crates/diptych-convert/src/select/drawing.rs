//! What is drawn of the rows that are left, and in which order they are taken.

use std::collections::BTreeMap;

use super::choose::{Reason, Steps};
use super::draw::{Lot, Quota, Taken, apportion, draw, most, sample_size, shuffle};
use super::report::Drawn;
use super::{Mix, MixBy, Selection};

/// Pairs of lots.
fn size(lots: &[Lot]) -> u64 {
    lots.iter().map(|lot| lot.rows.len() as u64).sum()
}

impl Steps<'_> {
    /// What a row is drawn with: its session, else its group, else nothing but itself.
    fn atom(&self, row: u32) -> u128 {
        let of =
            |digests: &[u128]| digests.get(row as usize).copied().filter(|digest| *digest != 0);
        let (session, group) = (of(&self.rows.session), of(&self.rows.group));
        session.or(group).or(of(&self.rows.id)).unwrap_or_default()
    }

    /// The rows that are kept, as they are drawn: one by one, or whole sessions and groups.
    fn lots(&self, whole: bool) -> Vec<Lot> {
        let mut lots: Vec<Lot> = Vec::new();
        let mut places: BTreeMap<u128, usize> = BTreeMap::new();
        for row in self.kept() {
            if !whole {
                let key = self.rows.id.get(row as usize).copied().unwrap_or_default();
                lots.push(Lot { key, rows: vec![row] });
                continue;
            }
            let key = self.atom(row);
            let place = *places.entry(key).or_insert(lots.len());
            match lots.get_mut(place) {
                Some(lot) => lot.rows.push(row),
                None => lots.push(Lot { key, rows: vec![row] }),
            }
        }
        lots
    }

    /// Draws what is to be drawn, and drops the others.
    pub(super) fn draw(&mut self) {
        let Selection { sample, mix, whole, seed, .. } = self.asked();
        let kinds: Vec<(String, Quota)> = match (mix, sample) {
            (Some(mix), _) => self.mixed(mix, *whole),
            (None, Some(sample)) => {
                let lots = self.lots(*whole);
                let asked = sample_size(*sample, size(&lots));
                vec![("all".to_owned(), Quota { lots, asked })]
            }
            (None, None) => {
                self.taken = self.kept().map(|row| Taken { copy: 0, row }).collect();
                return;
            }
        };
        let repeat = mix.as_ref().is_some_and(|mix| mix.repeat);
        let mut taken = Vec::new();
        for (kind, quota) in kinds {
            let of_kind = draw(&quota, seed.unwrap_or_default(), repeat);
            let repeated = of_kind.iter().filter(|taken| taken.copy > 0).count() as u64;
            let (asked, available, drawn) = (quota.asked, size(&quota.lots), of_kind.len() as u64);
            self.report.drawn.push(Drawn { kind, asked, available, drawn, repeated });
            taken.extend(of_kind);
        }
        // By their copy, then as they were read.
        taken.sort_unstable();
        let mut is_taken = vec![false; self.rows.len()];
        for taken in &taken {
            if let Some(is_taken) = is_taken.get_mut(taken.row as usize) {
                *is_taken = true;
            }
        }
        let is_left = |row: &u32| is_taken.get(*row as usize) == Some(&false);
        let left: Vec<u32> = self.kept().filter(is_left).collect();
        left.into_iter().for_each(|row| self.drop_row(row, Reason::NotDrawn));
        self.taken = taken;
    }

    /// The kinds of a mix, and how much of each is to be drawn.
    fn mixed(&self, mix: &Mix, whole: bool) -> Vec<(String, Quota)> {
        let shares = self.shares(mix);
        let places = shares.iter().enumerate();
        let places: BTreeMap<&str, usize> =
            places.map(|(place, (kind, _))| (kind.as_str(), place)).collect();
        let mut quotas = vec![Quota::default(); shares.len()];
        for lot in self.lots(whole) {
            let kind = lot.rows.first().map_or("", |row| self.kind(*row, &mix.by));
            // What is of no kind that was named is not drawn.
            if let Some(quota) = places.get(kind).and_then(|place| quotas.get_mut(*place)) {
                quota.lots.push(lot);
            }
        }
        let parts: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        let available: Vec<u64> = quotas.iter().map(|quota| size(&quota.lots)).collect();
        let total = mix.total.unwrap_or_else(|| most(&parts, &available));
        for (quota, asked) in quotas.iter_mut().zip(apportion(&parts, total)) {
            quota.asked = asked;
        }
        shares.into_iter().map(|(kind, _)| kind).zip(quotas).collect()
    }

    /// The kinds that are drawn, and their shares.
    fn shares(&self, mix: &Mix) -> Vec<(String, f64)> {
        if mix.by != MixBy::Source {
            return mix.shares.clone();
        }
        let weights = self.job.request.sources.iter().map(|source| source.weight);
        let named = self.pool.names.iter().cloned().zip(weights);
        named.filter_map(|(name, weight)| Some((name, weight?))).collect()
    }

    /// The kind of a row.
    fn kind(&self, row: u32, by: &MixBy) -> &str {
        match by {
            MixBy::Source => {
                let part = self.rows.part.get(row as usize).copied().unwrap_or_default();
                let part = self.pool.parts.get(part as usize);
                part.and_then(|part| self.pool.names.get(part.input)).map_or("", String::as_str)
            }
            MixBy::Column(_) => {
                let kind = self.rows.kind.get(row as usize).copied().unwrap_or(u32::MAX);
                self.rows.kinds.names.get(kind as usize).map_or("", String::as_str)
            }
        }
    }

    /// Puts what was taken into its order.
    pub(super) fn order(&mut self) {
        let Selection { in_order, shuffle: by_chance, seed, .. } = self.asked();
        if *by_chance {
            let mut lots: Vec<(u32, Lot)> = Vec::new();
            let mut places: BTreeMap<(u32, u128), usize> = BTreeMap::new();
            for Taken { copy, row } in std::mem::take(&mut self.taken) {
                let key = self.atom(row);
                let place = *places.entry((copy, key)).or_insert(lots.len());
                match lots.get_mut(place) {
                    Some((_, lot)) => lot.rows.push(row),
                    None => lots.push((copy, Lot { key, rows: vec![row] })),
                }
            }
            self.taken = shuffle(lots, seed.unwrap_or_default());
        } else if *in_order {
            let place = |taken: &Taken| self.listed.get(taken.row as usize).copied();
            self.taken.sort_by_key(|taken| (taken.copy, place(taken)));
        }
    }
}
