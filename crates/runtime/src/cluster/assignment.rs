//! Which cells a node takes and gives away, so that all nodes have about the same number.

use std::hash::{DefaultHasher, Hash, Hasher};

use perennial_store::{CellId, ClusterView, StoredCell, StoredNode};

use super::is_live;

/// Cells given away in one step, so that a node that joins causes no stall.
const GIVEN_AT_ONCE: usize = 2;

/// The next steps of a node.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Plan {
    /// Cells to take, in this order.
    pub(super) take: Vec<CellId>,
    /// Cells to give away.
    pub(super) give: Vec<CellId>,
}

/// The next steps of the node `me`. A node that leaves takes nothing and gives everything away.
pub(super) fn plan(view: &ClusterView, me: &str) -> Plan {
    let live: Vec<&StoredNode> = view.nodes.iter().filter(|node| takes_cells(node)).collect();
    let owned_by = |node: &str| view.cells.iter().filter(|cell| cell.owner == node).count();
    let own = || view.cells.iter().filter(|cell| cell.owner == me).map(id);
    if !live.iter().any(|node| node.registration.id == me) {
        return Plan { take: Vec::new(), give: own().collect() };
    }
    let share_min = view.cells.len() / live.len();
    let share_max = view.cells.len().div_ceil(live.len());
    let owned = owned_by(me);
    let mut free: Vec<CellId> =
        view.cells.iter().filter(|cell| is_free(cell, view)).map(id).collect();
    // Each node begins somewhere else, so that several rarely try the same cell.
    let begin = usize::try_from(hash(me)).unwrap_or(0) % free.len().max(1);
    free.rotate_left(begin);
    let missing: usize =
        live.iter().map(|node| share_min.saturating_sub(owned_by(&node.registration.id))).sum();
    // A node with its share leaves free cells to those that lack some: it would take back what it has just given away.
    let lacking = share_min.saturating_sub(owned);
    let spare_free = free.len().saturating_sub(missing);
    let may_take = (lacking + spare_free).min(share_max.saturating_sub(owned));
    // Free cells are taken first.
    let wanted = missing.saturating_sub(free.len());
    let spare = if owned > share_max {
        owned - share_max
    } else {
        wanted.min(owned - share_min.min(owned))
    };
    let give = own().collect::<Vec<_>>().into_iter().rev().take(spare.min(GIVEN_AT_ONCE)).collect();
    free.truncate(may_take);
    Plan { take: free, give }
}

/// Whether a node may own cells from now on.
fn takes_cells(node: &StoredNode) -> bool {
    !node.registration.is_leaving && is_live(node)
}

/// Whether a cell has no owner with a running lease.
pub(super) fn is_free(cell: &StoredCell, view: &ClusterView) -> bool {
    let owns = |node: &StoredNode| node.registration.id == cell.owner && is_live(node);
    !view.nodes.iter().any(owns)
}

fn id(cell: &StoredCell) -> CellId {
    CellId(cell.slots.first())
}

fn hash(node: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    node.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::time::Duration;

    use perennial_engine::{SlotRange, Time};
    use perennial_store::{Epoch, NodeRegistration};

    use super::*;

    /// A cluster with these nodes and 16 cells, owned in turn by `owners`.
    fn cluster(nodes: &[&str], owners: &[&str]) -> ClusterView {
        let node = |id: &&str| StoredNode {
            registration: NodeRegistration {
                id: (*id).to_owned(),
                address: format!("{id}:7235"),
                protocol: 1,
                oldest_protocol: 1,
                version: String::new(),
                is_leaving: false,
                started_at: Time(0),
            },
            lease_left: Duration::from_secs(3),
        };
        let cells = SlotRange::divided(16).into_iter().zip(owners.iter().cycle());
        let cells = cells.map(|(slots, owner)| {
            let owner = (*owner).to_owned();
            StoredCell { slots, owner, epoch: Epoch(1), sequence: 0 }
        });
        ClusterView {
            now: Time(0),
            nodes: nodes.iter().map(node).collect(),
            cells: cells.collect(),
        }
    }

    /// Lets all nodes take their steps until nothing changes. Returns the number of cells of each, and of rounds.
    fn settled(mut view: ClusterView) -> (BTreeMap<String, usize>, usize) {
        for round in 0..100 {
            let mut is_settled = true;
            for node in view.nodes.clone() {
                let me = node.registration.id;
                let Plan { take, give } = plan(&view, &me);
                is_settled &= take.is_empty() && give.is_empty();
                for cell in &mut view.cells {
                    let of = CellId(cell.slots.first());
                    if give.contains(&of) {
                        cell.owner.clear();
                    }
                    if take.contains(&of) {
                        cell.owner.clone_from(&me);
                    }
                }
            }
            if is_settled {
                let mut owned = BTreeMap::new();
                for cell in view.cells {
                    *owned.entry(cell.owner).or_default() += 1;
                }
                return (owned, round);
            }
        }
        panic!("cells are passed on for ever");
    }

    /// The numbers of cells of all nodes, the largest first.
    fn counts(view: ClusterView) -> Vec<usize> {
        let mut counts: Vec<usize> = settled(view).0.into_values().collect();
        counts.sort_by(|left, right| right.cmp(left));
        counts
    }

    #[test]
    fn only_node_takes_everything_at_once() {
        assert_eq!(settled(cluster(&["a"], &[""])), ([("a".to_owned(), 16)].into(), 1));
    }

    #[test]
    fn nodes_have_about_the_same_number() {
        assert_eq!(counts(cluster(&["a", "b", "c"], &[""])), [6, 5, 5]);
        assert_eq!(counts(cluster(&["a", "b", "c"], &["a"])), [6, 5, 5]);
        assert_eq!(counts(cluster(&["a", "b", "c", "d"], &["a", "b"])), [4, 4, 4, 4]);
        let more: Vec<String> = (0..20).map(|number| format!("{number:02}")).collect();
        let more: Vec<&str> = more.iter().map(String::as_str).collect();
        assert_eq!(counts(cluster(&more, &["00"])), [1; 16]);
    }

    #[test]
    fn balanced_cluster_stays_as_it_is() {
        let view = cluster(&["a", "b", "c"], &["a", "b", "c"]);
        assert_eq!(settled(view).1, 0);
    }

    #[test]
    fn node_that_joins_gets_a_few_cells_at_a_time() {
        let view = cluster(&["a", "b"], &["a"]);
        assert_eq!(plan(&view, "a").give.len(), GIVEN_AT_ONCE);
        assert_eq!(plan(&view, "b"), Plan::default());
    }

    #[test]
    fn cell_that_was_given_away_is_left_to_the_node_that_lacks_it() {
        let mut owners = ["a"; 16];
        owners[5..10].fill("b");
        owners[10..14].fill("c");
        owners[14] = "a";
        owners[15] = "";
        let view = cluster(&["a", "b", "c"], &owners);
        assert_eq!(plan(&view, "b").take, []);
        assert_eq!(plan(&view, "c").take.len(), 1);
    }

    #[test]
    fn cells_of_a_dead_node_are_shared_out() {
        let mut view = cluster(&["a", "b", "c"], &["a", "b", "c"]);
        view.nodes[2].lease_left = Duration::ZERO;
        assert_eq!(counts(view), [8, 8]);
    }

    #[test]
    fn leaving_node_gives_everything_and_takes_nothing() {
        let mut view = cluster(&["a", "b"], &["a", "", "b"]);
        view.nodes[1].registration.is_leaving = true;
        let Plan { take, give } = plan(&view, "b");
        assert!(take.is_empty());
        assert_eq!(give.len(), 5);
        assert_eq!(settled(view).0, [("a".to_owned(), 16)].into());
    }

    #[test]
    fn node_that_isnt_registered_takes_nothing() {
        assert_eq!(plan(&cluster(&["a"], &[""]), "b"), Plan::default());
    }
}
