//! A store around another store.

use perennial_engine::{EntityKey, EntityRef};
use perennial_store::{Error, HistoryRange, MemoryStore, Read, Store, StoreWrapper, StoredEntity};

use crate::writing::{NAMESPACE, Owner, current, load, new_run};

/// Refuses one kind of read, and shows other heads.
struct Wrapper {
    inner: MemoryStore,
    refused: Read,
}

impl StoreWrapper for Wrapper {
    fn inner(&self) -> &dyn Store {
        &self.inner
    }

    fn before_read(&self, read: Read) -> Result<(), Error> {
        if read == self.refused { Err(Error::Unavailable("refused".to_owned())) } else { Ok(()) }
    }

    fn on_loaded(&self, entity: &mut StoredEntity) {
        entity.head = b"changed".to_vec();
    }
}

fn wrap(refused: Read) -> Wrapper {
    let wrapper = Wrapper { inner: MemoryStore::new(), refused };
    Owner::first(&wrapper).commit(current(new_run(1, "order")));
    wrapper
}

#[test]
fn read_that_is_refused_fails_and_others_work() {
    let store = wrap(Read::History);
    let range = HistoryRange { branch: EntityKey(1), first_event_id: 1, last_event_id: 9 };
    assert!(matches!(store.history(range, 99, false), Err(Error::Unavailable(_))));
    assert_eq!(store.cells().unwrap().len(), 1);
    let store = wrap(Read::Load);
    let order = EntityRef::run(NAMESPACE, "order", "");
    let found = store.load(&[order.clone(), order]);
    assert!(found.iter().all(|found| matches!(found, Err(Error::Unavailable(_)))));
    assert_eq!((found.len(), store.history(range, 99, false).unwrap().len()), (2, 1));
}

#[test]
fn loaded_entity_is_changed() {
    let store = wrap(Read::Log);
    assert_eq!(load(&store, "order").unwrap().head, b"changed");
    assert_eq!(store.load_by_keys(&[EntityKey(1)]).unwrap()[0].head, b"changed");
    assert_eq!(load(&store.inner, "order").unwrap().head, b"new");
}
