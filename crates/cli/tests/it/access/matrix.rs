//! Every RPC and every HTTP path, called by everybody: who may what.

use bytes::Bytes;
use perennial_proto::descriptors;
use perennial_proto::prost_reflect::prost::Message;
use perennial_proto::prost_reflect::{DynamicMessage, MethodDescriptor, Value};
use tonic::Code;

use super::rights_document::{Needs, rights};
use super::secured_server::{SecuredServer, call, code};

const SERVICES: [&str; 4] = [
    "temporal.api.workflowservice.v1.WorkflowService",
    "temporal.api.operatorservice.v1.OperatorService",
    "perennial.v1.ScheduleService",
    "perennial.v1.AdminService",
];

/// A caller, and whether it is let in.
struct Caller {
    name: &'static str,
    token: Option<String>,
    is: Is,
}

#[derive(Clone, Copy)]
enum Is {
    /// Its credentials prove nothing.
    Nobody,
    /// It has credentials, but no role in the namespace.
    Elsewhere,
    /// It has this role in the namespace.
    InNamespace(&'static str),
    /// It has this role on the whole server.
    OnServer(&'static str),
}

impl Caller {
    fn expects(&self, needs: &Needs) -> Option<Code> {
        let may = match self.is {
            Is::Nobody => return Some(Code::Unauthenticated),
            Is::Elsewhere => *needs == Needs::Credentials,
            Is::InNamespace(role) => needs.allow(role, false),
            Is::OnServer(role) => needs.allow(role, true),
        };
        (!may).then_some(Code::PermissionDenied)
    }
}

fn callers(server: &SecuredServer) -> Vec<Caller> {
    let token = |permission| server.issuer.token(&[permission]);
    let mut forged = token("*:admin");
    forged.pop();
    let mut callers = vec![
        ("no credentials", None, Is::Nobody),
        ("garbage", Some("garbage".to_owned()), Is::Nobody),
        ("unknown key", Some(format!("perennial_{}", "A".repeat(43))), Is::Nobody),
        ("forged", Some(forged), Is::Nobody),
        ("expired", Some(server.issuer.token_for(&["*:admin"], "perennial", -1)), Is::Nobody),
        ("wrong audience", Some(server.issuer.token_for(&["*:admin"], "bank", 60)), Is::Nobody),
        ("wrong namespace", Some(token("bank:admin")), Is::Elsewhere),
        ("no roles", Some(server.issuer.token(&[])), Is::Elsewhere),
    ];
    for role in ["read", "worker", "write", "admin"] {
        let key = server.api_key(&format!("shop-{role}"), &format!("shop:{role}"));
        callers.push((role, Some(key), Is::InNamespace(role)));
        let of_server = server.issuer.token(&[&format!("temporal-system:{role}")]);
        callers.push((role, Some(of_server), Is::OnServer(role)));
    }
    callers.into_iter().map(|(name, token, is)| Caller { name, token, is }).collect()
}

fn methods() -> Vec<(String, MethodDescriptor)> {
    let services = SERVICES.iter().map(|name| descriptors().get_service_by_name(name).unwrap());
    let methods = services.flat_map(|service| {
        let name = service.full_name().to_owned();
        service
            .methods()
            .map(move |rpc| (format!("/{name}/{}", rpc.name()), rpc))
            .collect::<Vec<_>>()
    });
    let mut methods: Vec<_> = methods.collect();
    // What ends the namespace comes last.
    methods.sort_by_key(|(_, rpc)| rpc.name().contains("Namespace"));
    methods
}

/// A request of an RPC in the namespace `shop`, and nothing else in it.
fn request(rpc: &MethodDescriptor) -> Bytes {
    let mut message = DynamicMessage::new(rpc.input());
    let namespace = || Value::String("shop".to_owned());
    if rpc.input().get_field_by_name("namespace").is_some() {
        message.set_field_by_name("namespace", namespace());
    } else if rpc.full_name() == "perennial.v1.ScheduleService.CreateSchedule" {
        let schedule = rpc.input().get_field_by_name("schedule").unwrap();
        let mut inner = DynamicMessage::new(schedule.kind().as_message().unwrap().clone());
        inner.set_field_by_name("namespace", namespace());
        message.set_field(&schedule, Value::Message(inner));
    }
    message.encode_to_vec().into()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_rpc_lets_in_those_who_may_and_nobody_else() {
    let server = SecuredServer::start();
    let (callers, rights, channel) = (callers(&server), rights(), server.channel().await);
    let methods = methods();
    assert_eq!(methods.len(), rights.len(), "docs/rights.md has a row for each RPC");
    for (path, rpc) in &methods {
        let needs = rights.get(path).unwrap_or_else(|| panic!("docs/rights.md lacks {path}"));
        for caller in &callers {
            let result = call(&channel, path, caller.token.as_deref(), request(rpc)).await;
            check(path, caller, needs, code(&result));
        }
    }
}

fn check(path: &str, caller: &Caller, needs: &Needs, code: Code) {
    let name = caller.name;
    match caller.expects(needs) {
        Some(expected) => assert_eq!(code, expected, "{path} by {name}"),
        None => {
            let is_refused = matches!(code, Code::PermissionDenied | Code::Unauthenticated);
            assert!(!is_refused, "{path} by {name}: {code:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_http_path_lets_in_those_who_may_and_nobody_else() {
    let server = SecuredServer::start();
    let (callers, rights) = (callers(&server), rights());
    let mut paths = 0;
    for (method, template, rpc) in routes() {
        let path = path_of(&template);
        // Fields outside the path are in the body, which is empty here: they name no namespace.
        let is_in_path =
            template.contains("{namespace}") || template.contains("{schedule.namespace}");
        let needs = match &rights[&rpc] {
            Needs::InNamespace(_) if !is_in_path => continue,
            needs => needs,
        };
        paths += 1;
        for caller in &callers {
            let status = server.http_status(&method, &path, caller.token.as_deref());
            let code = match status {
                401 => Code::Unauthenticated,
                403 => Code::PermissionDenied,
                _ => Code::Ok,
            };
            check(&format!("{method} {path}"), caller, needs, code);
        }
    }
    assert!(paths > 100, "only {paths} paths were tried");
    for path in ["/openapi.json", "/api/v1/openapi.yaml", "/nowhere"] {
        assert_eq!(server.http_status("GET", path, None), 401, "{path}");
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(server.http_status("GET", path, None), 200, "{path}");
    }
}

/// Method, path and RPC of each HTTP path.
fn routes() -> Vec<(String, String, String)> {
    let http = descriptors().get_extension_by_name("google.api.http").unwrap();
    let mut routes = Vec::new();
    for (rpc_path, rpc) in methods() {
        let rule = rpc.options().get_extension(&http).into_owned();
        let Value::Message(rule) = rule else { continue };
        let more = rule.get_field_by_name("additional_bindings").unwrap().into_owned();
        let more: Vec<_> = match &more {
            Value::List(more) => more.iter().filter_map(Value::as_message).cloned().collect(),
            _ => Vec::new(),
        };
        for rule in std::iter::once(rule.clone()).chain(more) {
            for method in ["get", "put", "post", "delete", "patch"] {
                let path = rule.get_field_by_name(method).unwrap();
                let path = path.as_str().filter(|path| !path.is_empty());
                if let Some(path) = path {
                    routes.push((method.to_uppercase(), path.to_owned(), rpc_path.clone()));
                }
            }
        }
    }
    routes
}

fn path_of(template: &str) -> String {
    let segments = template.split('/').map(|segment| match segment {
        "{namespace}" | "{schedule.namespace}" => "shop",
        variable if variable.starts_with('{') => "1",
        literal => literal,
    });
    segments.collect::<Vec<_>>().join("/")
}
