//! Deliveries of messages to their receivers, and of the answers to their senders.

use std::sync::Arc;

use perennial_proto::store::EntityMessage;
use perennial_store::Epoch;

use super::{Node, ToCell};
use crate::cell::{Incoming, Input, ReplyTo, Request, Response, slot_of_receiver, slot_of_sender};
use crate::damage::Damaged;

impl Node {
    /// Delivers a message, and returns the answer to the sender's cell if that still has this lease.
    ///
    /// A restarted cell delivers its messages again. It must not get two answers to one message: a start that was
    /// refused the first time may succeed the second time.
    pub(crate) fn deliver(&self, message: Arc<EntityMessage>, epoch: Epoch) {
        let cell_of_sender = self.cells.of(slot_of_sender(&message));
        let sent = Arc::clone(&message);
        let damage = Arc::clone(&self.damage);
        let reply = ReplyTo::Then(Box::new(move |answer: Result<Response, crate::Refusal>| {
            let back = match answer {
                Ok(Response::Answer(answer)) => {
                    let request = Request::TakeAnswer { message: sent, answer };
                    let incoming = Incoming::internal(request, ReplyTo::Nobody);
                    ToCell::UnderLease(epoch, Input::Asked(Box::new(incoming)))
                }
                // A retry wouldn't repair the receiver. The message stays in the store.
                Err(crate::Refusal::Damaged(why)) => {
                    return damage.report(Damaged::Message { key: sent.key }, &why);
                }
                Ok(_) | Err(_) => ToCell::DeliverLater(epoch, sent),
            };
            if let Some(cell) = cell_of_sender {
                cell.send(back);
            }
        }));
        match &self.cluster {
            Some(cluster) if !self.cells.contains(slot_of_receiver(&message)) => {
                cluster.deliver(self, &message, reply);
            }
            Some(_) | None => self.ask(Incoming::internal(Request::Deliver { message }, reply)),
        }
    }
}
