//! Reads many files, several at a time, and takes the results in the order of the files.

use std::sync::mpsc;
use std::thread;

/// The most readers, if there are as many processors.
const MOST_READERS: usize = 8;
/// The results of a reader that wait to be taken. Bounded, since each may be large.
const WAITING: usize = 2;

/// Calls `read` for each item, on several threads, and `take` for each result, on this one and in the order of the items, until it fails.
pub(super) fn read_in_order<'a, I: Sync, T: Send, E>(
    items: &'a [I],
    read: impl Fn(&I) -> T + Sync,
    mut take: impl FnMut(&'a I, T) -> Result<(), E>,
) -> Result<(), E> {
    let readers = thread::available_parallelism().map_or(1, usize::from).min(MOST_READERS).min(items.len());
    if readers < 2 {
        return items.iter().try_for_each(|item| take(item, read(item)));
    }
    let read = &read;
    thread::scope(|scope| {
        // Each reader has every n-th item, so that the next result is always known to come from the next reader.
        let of_readers: Vec<_> = (0..readers)
            .map(|first| {
                let (sender, results) = mpsc::sync_channel(WAITING);
                scope.spawn(move || {
                    for item in items.iter().skip(first).step_by(readers) {
                        // Sending fails once taking has failed.
                        if sender.send(read(item)).is_err() {
                            break;
                        }
                    }
                });
                results
            })
            .collect();
        for (place, item) in items.iter().enumerate() {
            // A reader ends before its last item only if it panics, which the scope passes on.
            let Ok(result) = of_readers[place % readers].recv() else { break };
            take(item, result)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_until_taking_fails() {
        let items: Vec<usize> = (0..100).collect();
        for end in [0, 1, 57, 100] {
            let mut taken = Vec::new();
            let done = read_in_order(
                &items,
                |item| item * 2,
                |item, twice| {
                    if *item == end {
                        return Err(());
                    }
                    taken.push((*item, twice));
                    Ok(())
                },
            );
            assert_eq!(done.is_ok(), end == 100);
            assert_eq!(taken, (0..end).map(|item| (item, item * 2)).collect::<Vec<_>>());
        }
    }
}
