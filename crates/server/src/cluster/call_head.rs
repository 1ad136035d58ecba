//! The context of a call and the end of a call, as one node tells them to another.

use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use perennial_identity::{Credential, Permission, Principal};
use perennial_peer::PeerAnswer;
use perennial_proto::encoded;
use perennial_proto::node::{AnswerHead, CallHead, Caller};
use prost::Message;
use tokio::time::Instant;
use tonic::metadata::MetadataMap;
use tonic::{Code, Status};

use crate::call_context::{CallContext, ClientFeatures, Face};
use crate::encoded_message::EncodedMessage;
use crate::errors::{self, RETRY_AFTER_MILLIS, RpcResult};
use crate::request_id::RequestId;

/// The head of a call that is passed on. The principal goes along, not the credentials.
pub(super) fn of_context(context: &CallContext) -> Bytes {
    let left = |deadline: Instant| {
        let left = deadline.saturating_duration_since(Instant::now());
        i64::try_from(left.as_nanos()).unwrap_or(i64::MAX)
    };
    let head = CallHead {
        caller: Some(caller(&context.principal)),
        face: context.face.name().to_owned(),
        deadline_nanos: context.deadline.map(left),
        trace: context.trace.map(|trace| trace.to_string()).unwrap_or_default(),
        request_id: context.request_id.to_string(),
        client_name: context.client_name.clone(),
        follows_next_run_id: context.features.follows_next_run_id,
    };
    encoded(&head).into()
}

/// The context of a call that another node passes on.
pub(super) fn context(head: &[u8]) -> RpcResult<CallContext> {
    let unreadable = |error| Status::internal(format!("the head of a call can't be read: {error}"));
    let head = CallHead::decode(head).map_err(unreadable)?;
    let nanos = head.deadline_nanos.map(|nanos| u64::try_from(nanos).unwrap_or(0));
    let deadline = nanos.and_then(|nanos| Instant::now().checked_add(Duration::from_nanos(nanos)));
    Ok(CallContext {
        face: [Face::Http, Face::InProcess]
            .into_iter()
            .find(|face| face.name() == head.face)
            .unwrap_or(Face::Grpc),
        principal: Arc::new(principal(head.caller.unwrap_or_default())),
        deadline,
        trace: head.trace.parse().ok(),
        request_id: RequestId::of_client(Some(&head.request_id)),
        client_name: head.client_name,
        features: ClientFeatures { follows_next_run_id: head.follows_next_run_id },
        is_passed_on: true,
        ..CallContext::in_process()
    })
}

/// How a call ended.
pub(super) fn answer(result: RpcResult<EncodedMessage>) -> PeerAnswer {
    let (head, body) = match result {
        Ok(message) => (AnswerHead::default(), message.into_message()),
        Err(status) => {
            let pushback = status.metadata().get(RETRY_AFTER_MILLIS);
            let head = AnswerHead {
                code: status.code().into(),
                message: status.message().to_owned(),
                details: status.details().to_vec(),
                retry_pushback: pushback
                    .and_then(|it| it.to_str().ok())
                    .unwrap_or_default()
                    .to_owned(),
                is_moved: errors::is_moved(&status),
            };
            (head, Bytes::new())
        }
    };
    PeerAnswer { head: encoded(&head).into(), body }
}

/// How a call ended at another node.
pub(super) fn result(answer: PeerAnswer) -> RpcResult<EncodedMessage> {
    let unreadable =
        |error| Status::unavailable(format!("the answer of a node can't be read: {error}"));
    let head = AnswerHead::decode(answer.head).map_err(unreadable)?;
    if head.code == i32::from(Code::Ok) {
        return Ok(EncodedMessage::from_message(&answer.body));
    }
    if head.is_moved {
        return Err(errors::moved());
    }
    let mut metadata = MetadataMap::new();
    if let Ok(pushback) = head.retry_pushback.parse()
        && !head.retry_pushback.is_empty()
    {
        metadata.insert(RETRY_AFTER_MILLIS, pushback);
    }
    let (code, details) = (Code::from(head.code), head.details.into());
    Err(Status::with_details_and_metadata(code, head.message, details, metadata))
}

fn caller(principal: &Principal) -> Caller {
    let since = |time: SystemTime| time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let nanos = |time| i64::try_from(since(time).as_nanos()).unwrap_or(i64::MAX);
    Caller {
        credential: principal.credential.kind().to_owned(),
        name: principal.name.clone(),
        permissions: principal.grants.permissions().iter().map(ToString::to_string).collect(),
        valid_until: principal.valid_until.map_or(0, nanos),
    }
}

/// The principal of a call. The first node ends the call when the credentials are revoked.
fn principal(caller: Caller) -> Principal {
    let known = [Credential::ApiKey, Credential::Token, Credential::Certificate];
    let credential = known.into_iter().find(|it| it.kind() == caller.credential);
    let permissions = caller.permissions.iter().filter_map(|text| Permission::from_str(text).ok());
    let grants = permissions.collect();
    let mut principal =
        Principal::new(credential.unwrap_or(Credential::Nothing), caller.name, grants);
    let until = u64::try_from(caller.valid_until).ok().filter(|nanos| *nanos > 0);
    principal.valid_until = until.map(|nanos| SystemTime::UNIX_EPOCH + Duration::from_nanos(nanos));
    principal
}

#[cfg(test)]
mod tests {
    use perennial_identity::Grants;

    use super::*;

    #[test]
    fn context_arrives_as_it_was() {
        let permissions = ["shop:write", "*:read"].map(|text| text.parse::<Permission>().unwrap());
        let grants: Grants = permissions.into_iter().collect();
        let mut principal = Principal::new(Credential::Token, "issuer subject", grants);
        let until = SystemTime::UNIX_EPOCH + Duration::from_secs(2_000_000_000);
        principal.valid_until = Some(until);
        let sent = CallContext {
            face: Face::Http,
            principal: Arc::new(principal),
            deadline: Some(Instant::now() + Duration::from_secs(60)),
            trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".parse().ok(),
            client_name: "temporal-go".to_owned(),
            features: ClientFeatures { follows_next_run_id: true },
            ..CallContext::in_process()
        };
        let arrived = context(&of_context(&sent)).unwrap();
        assert_eq!((arrived.face, arrived.trace), (sent.face, sent.trace));
        assert_eq!(arrived.principal.to_string(), sent.principal.to_string());
        let grants = |of: &CallContext| format!("{:?}", of.principal.grants);
        assert_eq!(grants(&arrived), grants(&sent));
        assert_eq!(arrived.principal.valid_until, Some(until));
        assert_eq!(arrived.request_id.to_string(), sent.request_id.to_string());
        assert_eq!((arrived.client_name, arrived.features), (sent.client_name, sent.features));
        assert!(arrived.deadline.unwrap() <= sent.deadline.unwrap() + Duration::from_secs(1));
        assert!(arrived.is_passed_on && !sent.is_passed_on);
    }

    #[test]
    fn anonymous_caller_stays_anonymous() {
        let arrived = context(&of_context(&CallContext::in_process())).unwrap();
        assert!(arrived.principal.is_anonymous() && arrived.deadline.is_none());
    }

    #[test]
    fn error_arrives_with_code_details_and_pushback() {
        let mut metadata = MetadataMap::new();
        metadata.insert(RETRY_AFTER_MILLIS, "17".parse().unwrap());
        let status = Status::with_details_and_metadata(
            Code::ResourceExhausted,
            "slowly",
            Bytes::from_static(b"why"),
            metadata,
        );
        let arrived = result(answer(Err(status))).err().unwrap();
        assert_eq!((arrived.code(), arrived.message()), (Code::ResourceExhausted, "slowly"));
        assert_eq!(arrived.details(), b"why");
        assert_eq!(arrived.metadata().get(RETRY_AFTER_MILLIS).unwrap(), "17");
        assert!(errors::is_moved(&result(answer(Err(errors::moved()))).err().unwrap()));
    }
}
