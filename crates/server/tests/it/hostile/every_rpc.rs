//! Every RPC with empty, random and maximal messages.

use std::collections::HashMap;
use std::time::Duration;

use perennial_proto::descriptors;
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, MethodDescriptor, Value,
};
use perennial_server::ServerConfig;
use tonic::transport::Channel;
use tonic::{Code, Status};

use crate::hostile::test_server::{TestServer, WORKFLOW_SERVICE, call};

const SERVICES: [&str; 3] = [
    WORKFLOW_SERVICE,
    "temporal.api.operatorservice.v1.OperatorService",
    "perennial.v1.ScheduleService",
];

/// Random messages for each RPC.
const ROUNDS: u64 = 24;

#[tokio::test(flavor = "multi_thread")]
async fn no_message_breaks_an_rpc_or_gets_a_code_that_clients_retry() {
    let wait = Duration::from_millis(20);
    let config = ServerConfig { poll_time: wait, long_poll_time: wait, ..ServerConfig::default() };
    let server = TestServer::with(config).await;
    let channel = server.channel().await;
    for rpc in SERVICES.iter().flat_map(|name| {
        descriptors().get_service_by_name(name).unwrap().methods().collect::<Vec<_>>()
    }) {
        // RPCs that delete a namespace get one that no other RPC uses.
        let namespace = if rpc.name().contains("Namespace") { "doomed" } else { "default" };
        for seed in 0..ROUNDS {
            let mut random = Random::new(seed, rpc.full_name(), namespace);
            random.is_plausible = seed % 2 == 1;
            let filled = random.message(&rpc.input(), 0).encode_to_vec();
            check(&channel, &rpc, &filled, &format!("seed {seed}")).await;
            // The same message with one bit changed.
            let mut damaged = filled;
            if let Some(at) = random.below(damaged.len().max(1)).checked_sub(1) {
                damaged[at] ^= 1 << random.below(8);
            }
            check(&channel, &rpc, &damaged, &format!("seed {seed}, damaged")).await;
            let noise: Vec<u8> = (0..random.below(300)).map(|_| random.byte()).collect();
            check(&channel, &rpc, &noise, &format!("seed {seed}, noise")).await;
        }
        check(&channel, &rpc, &[], "nothing").await;
        let mut largest = Random::new(7, rpc.full_name(), namespace);
        largest.is_maximal = true;
        check(&channel, &rpc, &largest.message(&rpc.input(), 0).encode_to_vec(), "all").await;
    }
    server.assert_well().await;
    server.stop().await;
}

async fn check(channel: &Channel, rpc: &MethodDescriptor, message: &[u8], what: &str) {
    let path = format!("/{}/{}", rpc.parent_service().full_name(), rpc.name());
    // A query waits for a worker, and there is none.
    let waits = rpc.name() == "QueryWorkflow";
    let status = call(channel.clone(), &path, message, waits.then_some("50m")).await;
    assert!(
        is_final(&status) || (waits && status.code() == Code::DeadlineExceeded),
        "{path}, {what}: {status}"
    );
    assert!(status.message().len() < 3_000, "{path}, {what}: {} bytes", status.message().len());
}

/// Fields that RPCs require.
const NEEDED: [&str; 22] = [
    "action",
    "activity_id",
    "execution",
    "input",
    "job_id",
    "name",
    "namespace",
    "query",
    "query_type",
    "request",
    "request_id",
    "schedule",
    "schedule_id",
    "signal_name",
    "start_workflow",
    "task_queue",
    "update_id",
    "workflow_execution",
    "workflow_execution_retention_period",
    "workflow_id",
    "workflow_type",
    "patch",
];

/// Whether clients don't retry it.
fn is_final(status: &Status) -> bool {
    match status.code() {
        Code::Ok
        | Code::InvalidArgument
        | Code::NotFound
        | Code::AlreadyExists
        | Code::FailedPrecondition
        | Code::PermissionDenied
        | Code::Unauthenticated
        | Code::Unimplemented => true,
        // SDKs retry these, some for ever.
        Code::Cancelled
        | Code::Unknown
        | Code::DeadlineExceeded
        | Code::ResourceExhausted
        | Code::Aborted
        | Code::OutOfRange
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss => false,
    }
}

/// Makes messages from descriptors, the same for the same seed.
struct Random {
    state: u64,
    namespace: &'static str,
    is_maximal: bool,
    /// Whether most fields are valid, so that the others get past the first checks.
    is_plausible: bool,
    /// Remaining values: some messages contain themselves, and a message has a size limit.
    left: usize,
}

impl Random {
    fn new(seed: u64, name: &str, namespace: &'static str) -> Self {
        let state = name.bytes().fold(seed, |state, byte| state.wrapping_mul(31) + u64::from(byte));
        Self { state, namespace, is_maximal: false, is_plausible: false, left: 2_000 }
    }

    /// SplitMix64.
    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        self.next() as u8
    }

    fn message(&mut self, descriptor: &MessageDescriptor, depth: usize) -> DynamicMessage {
        let mut message = DynamicMessage::new(descriptor.clone());
        for field in descriptor.fields() {
            let is_left_out = match () {
                () if self.is_maximal => false,
                () if self.is_plausible => !NEEDED.contains(&field.name()) && self.below(5) != 0,
                () => self.below(3) == 0,
            };
            if is_left_out || self.left == 0 || depth > 8 {
                continue;
            }
            let value = self.field(&field, depth);
            message.set_field(&field, value);
        }
        message
    }

    fn field(&mut self, field: &FieldDescriptor, depth: usize) -> Value {
        let count = if self.is_maximal { 20 } else { self.below(4) };
        let kind = field.kind();
        if field.is_list() {
            return Value::List((0..count).map(|_| self.value(&kind, "", depth)).collect());
        }
        match (&kind, field.is_map()) {
            (Kind::Message(entry), true) => {
                let kind = entry.map_entry_value_field().kind();
                let mut entries = HashMap::new();
                for _ in 0..count {
                    // All maps of the API have text keys, except one with numbers.
                    let key = match entry.map_entry_key_field().kind() {
                        Kind::String => MapKey::String(self.text("")),
                        Kind::Int64 => MapKey::I64(self.next() as i64),
                        _ => MapKey::I32(self.next() as i32),
                    };
                    entries.insert(key, self.value(&kind, "", depth));
                }
                Value::Map(entries)
            }
            _ => self.value(&kind, field.name(), depth),
        }
    }

    fn value(&mut self, kind: &Kind, name: &str, depth: usize) -> Value {
        const NUMBERS: [i64; 9] = [0, 1, 7, 100, 3_600, 86_400, -1, i64::MAX, i64::MIN];
        const FLOATS: [f64; 6] = [0.0, 1.5, -1.0, f64::NAN, f64::INFINITY, f64::MIN_POSITIVE];
        self.left = self.left.saturating_sub(1);
        let numbers = if self.is_plausible { 6 } else { NUMBERS.len() };
        let number = NUMBERS[self.below(numbers)];
        match kind {
            Kind::Bool => Value::Bool(self.below(2) == 0),
            Kind::Double => Value::F64(FLOATS[self.below(FLOATS.len())]),
            Kind::Float => Value::F32(FLOATS[self.below(FLOATS.len())] as f32),
            Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(number as i32),
            Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(number),
            Kind::Uint32 | Kind::Fixed32 => Value::U32(number as u32),
            Kind::Uint64 | Kind::Fixed64 => Value::U64(number as u64),
            Kind::Enum(_) if self.is_plausible => Value::EnumNumber(self.below(3) as i32),
            Kind::Enum(_) => Value::EnumNumber(self.below(12) as i32 - 1),
            Kind::String => Value::String(self.text(name)),
            Kind::Bytes => {
                let length = if self.is_maximal { 1_500 } else { self.below(40) };
                Value::Bytes((0..length).map(|_| self.byte()).collect::<Vec<_>>().into())
            }
            Kind::Message(inner) => Value::Message(self.message(inner, depth + 1)),
        }
    }

    fn text(&mut self, name: &str) -> String {
        const TEXTS: [&str; 14] = [
            "",
            "w",
            "queue",
            "s",
            "r",
            "a\0b",
            "\u{1b}[2J",
            "' OR 1=1 --",
            "* * * * *",
            "Europe/Oslo",
            "00000000-0000-4000-8000-000000000000",
            "é\u{301}\u{202e}",
            "5",
            "WorkflowId = 'w'",
        ];
        // Otherwise nothing gets past the first check.
        if name == "namespace" && self.below(8) != 0 {
            return self.namespace.to_owned();
        }
        if self.is_maximal {
            return "é".repeat(600);
        }
        if self.is_plausible {
            return match name {
                "workflow_id" => "w".to_owned(),
                "schedule_id" => "s".to_owned(),
                "request_id" | "update_id" | "job_id" => self.next().to_string(),
                "name" | "query_type" | "signal_name" | "activity_id" => "queue".to_owned(),
                "timezone_name" => "Europe/Oslo".to_owned(),
                _ => String::new(),
            };
        }
        TEXTS[self.below(TEXTS.len())].to_owned()
    }
}
