//! The paths of RPCs.
//!
//! The paths are those of the RPCs' `google.api.http` annotations, Temporal's and ours. An RPC without one is
//! at `POST /api/v1/rpc/<service>/<method>`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use hyper::Method;
use percent_encoding::percent_decode_str;
use perennial_proto::descriptors;
use perennial_proto::json;
use perennial_proto::prost_reflect::{
    DynamicMessage, FieldDescriptor, MessageDescriptor, MethodDescriptor, Value,
};

use crate::rpcs::SERVICES;

/// All routes, with an index by path.
pub(super) struct RouteTable {
    pub(super) routes: Vec<Route>,
    root: Node,
}

/// An HTTP method at a path, and the RPC that it calls.
pub(super) struct Route {
    pub(super) rpc: MethodDescriptor,
    pub(super) method: Method,
    /// As in `/namespaces/{namespace}/workflows/{execution.workflow_id}`.
    pub(super) template: String,
    /// The fields that the template's variables fill, in order.
    pub(super) variables: Vec<FieldPath>,
    pub(super) body: Body,
}

/// What the body of a request holds.
pub(super) enum Body {
    /// Nothing: fields that aren't in the path are in the query.
    None,
    /// The whole message.
    Message,
    /// One field of the message; the rest is in the query.
    Field(FieldDescriptor),
}

/// The fields that lead to a field within other messages.
pub(super) type FieldPath = Vec<FieldDescriptor>;

/// The result of looking up a method and a path.
pub(super) enum RouteMatch<'a> {
    /// A route, with the values of its template's variables.
    Matched(&'a Route, Vec<String>),
    /// The path exists, but only for these methods.
    OtherMethods(Vec<Method>),
    /// No route has this path.
    NotFound,
}

/// A node of the index: the paths below one segment.
#[derive(Default)]
struct Node {
    literals: BTreeMap<String, Node>,
    variable: Option<Box<Node>>,
    /// Indices of routes that end here.
    routes: Vec<usize>,
}

impl RouteTable {
    /// The table, made on first use.
    pub(super) fn get() -> &'static Self {
        static TABLE: LazyLock<RouteTable> = LazyLock::new(RouteTable::new);
        &TABLE
    }

    fn new() -> Self {
        let mut table = Self { routes: Vec::new(), root: Node::default() };
        let services = SERVICES.iter().filter_map(|name| descriptors().get_service_by_name(name));
        for service in services {
            for rpc in service.methods() {
                for route in routes_of(&rpc) {
                    table.insert(route);
                }
            }
        }
        table
    }

    fn insert(&mut self, route: Route) {
        let mut node = &mut self.root;
        for segment in segments(&route.template) {
            node = if segment.starts_with('{') {
                node.variable.get_or_insert_default()
            } else {
                node.literals.entry(segment.to_owned()).or_default()
            };
        }
        node.routes.push(self.routes.len());
        self.routes.push(route);
    }

    /// Finds the route of a request by its still escaped path. Literal segments take precedence over variables.
    pub(super) fn find(&self, method: &Method, path: &str) -> RouteMatch<'_> {
        let mut ends = Vec::new();
        let segments: Vec<_> = segments(path).collect();
        self.root.collect(&segments, &mut Vec::new(), &mut ends);
        let mut methods = Vec::new();
        for (routes, variables) in ends {
            for route in routes.iter().map(|index| &self.routes[*index]) {
                if route.method == *method {
                    return match variables.iter().map(|text| decoded(text)).collect() {
                        Some(variables) => RouteMatch::Matched(route, variables),
                        None => RouteMatch::NotFound,
                    };
                }
                methods.push(route.method.clone());
            }
        }
        if methods.is_empty() { RouteMatch::NotFound } else { RouteMatch::OtherMethods(methods) }
    }
}

impl Node {
    /// Collects the routes of all paths that match `segments`, with the values of variables.
    fn collect<'a>(
        &'a self,
        segments: &[&'a str],
        variables: &mut Vec<&'a str>,
        ends: &mut Vec<(&'a [usize], Vec<&'a str>)>,
    ) {
        let Some((segment, rest)) = segments.split_first() else {
            if !self.routes.is_empty() {
                ends.push((&self.routes, variables.clone()));
            }
            return;
        };
        if let Some(node) = self.literals.get(*segment) {
            node.collect(rest, variables, ends);
        }
        if let Some(node) = &self.variable
            && !segment.is_empty()
        {
            variables.push(segment);
            node.collect(rest, variables, ends);
            variables.pop();
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('/').unwrap_or(path).split('/')
}

/// A segment without escapes: an id may contain a slash, written `%2F`.
fn decoded(segment: &str) -> Option<String> {
    percent_decode_str(segment).decode_utf8().ok().map(|text| text.into_owned())
}

fn routes_of(rpc: &MethodDescriptor) -> Vec<Route> {
    let http = descriptors().get_extension_by_name("google.api.http");
    let options = rpc.options();
    let rule = http
        .filter(|http| options.has_extension(http))
        .map(|http| options.get_extension(&http).into_owned());
    let Some(Value::Message(rule)) = rule else {
        let service = rpc.parent_service().full_name();
        return vec![Route {
            rpc: rpc.clone(),
            method: Method::POST,
            template: format!("/api/v1/rpc/{service}/{}", rpc.name()),
            variables: Vec::new(),
            body: Body::Message,
        }];
    };
    let more = match rule.get_field_by_name("additional_bindings").as_deref() {
        Some(Value::List(more)) => more.clone(),
        _ => Vec::new(),
    };
    let more = more.iter().filter_map(|binding| binding.as_message());
    std::iter::once(&rule).chain(more).filter_map(|rule| route(rpc, rule)).collect()
}

/// The route of an annotation. `None` for other kinds, such as one with a custom method.
fn route(rpc: &MethodDescriptor, rule: &DynamicMessage) -> Option<Route> {
    let text = |name: &str| {
        let value = rule.get_field_by_name(name)?;
        value.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let (method, template) = [
        (Method::GET, "get"),
        (Method::PUT, "put"),
        (Method::POST, "post"),
        (Method::DELETE, "delete"),
        (Method::PATCH, "patch"),
    ]
    .into_iter()
    .find_map(|(method, name)| Some((method, text(name)?)))?;
    let input = rpc.input();
    let variables = segments(&template)
        .filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
        .map(|path| field_path(&input, path).ok())
        .collect::<Option<_>>()?;
    let body = match text("body").as_deref() {
        None => Body::None,
        Some("*") => Body::Message,
        Some(field) => Body::Field(input.get_field_by_name(field)?),
    };
    Some(Route { rpc: rpc.clone(), method, template, variables, body })
}

/// The most nested fields that a query may name.
const PATH_FIELDS_MAX: usize = 16;

/// The fields of a path such as `execution.workflow_id`, named as in the `.proto` file or as in JSON.
pub(super) fn field_path(
    message: &MessageDescriptor,
    path: &str,
) -> Result<FieldPath, json::Error> {
    let mut fields = FieldPath::new();
    let mut within = Some(message.clone());
    for name in path.split('.') {
        // Bounded because messages may contain themselves, as failures do in their cause.
        if fields.len() == PATH_FIELDS_MAX {
            let problem = format!("it names more than {PATH_FIELDS_MAX} nested fields");
            return Err(json::Error { path: String::new(), problem });
        }
        let message = within.ok_or_else(|| no_nested_fields(path))?;
        let field = message
            .get_field_by_json_name(name)
            .or_else(|| message.get_field_by_name(name))
            .ok_or_else(|| json::unknown_field(&message, name))?;
        within = field.kind().as_message().filter(|_| !field.is_list()).cloned();
        fields.push(field);
    }
    Ok(fields)
}

fn no_nested_fields(path: &str) -> json::Error {
    json::Error { path: path.to_owned(), problem: "it has no nested fields".to_owned() }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn found(method: Method, path: &str) -> String {
        match RouteTable::get().find(&method, path) {
            RouteMatch::Matched(route, variables) => format!("{} {variables:?}", route.rpc.name()),
            RouteMatch::OtherMethods(methods) => format!("{methods:?}"),
            RouteMatch::NotFound => "nothing".to_owned(),
        }
    }

    #[test]
    fn every_rpc_has_a_path_and_no_two_the_same() {
        let table = RouteTable::get();
        for name in SERVICES {
            let service = descriptors().get_service_by_name(name).unwrap();
            for rpc in service.methods() {
                assert!(table.routes.iter().any(|route| route.rpc == rpc), "{}", rpc.full_name());
                let annotated = routes_of(&rpc);
                let http = descriptors().get_extension_by_name("google.api.http").unwrap();
                let has_rule = rpc.options().has_extension(&http);
                let by_rule = annotated[0].template.starts_with("/api/v1/rpc/");
                assert_eq!(has_rule, !by_rule, "{}", rpc.full_name());
            }
        }
        let mut seen = HashSet::new();
        for route in &table.routes {
            // Templates that differ only in the names of variables are the same path.
            let shape: Vec<_> = segments(&route.template)
                .map(|segment| if segment.starts_with('{') { "{}" } else { segment })
                .collect();
            assert!(seen.insert((route.method.clone(), shape.join("/"))), "{}", route.template);
        }
    }

    #[test]
    fn path_determines_the_rpc_and_its_variables() {
        assert_eq!(
            found(Method::GET, "/api/v1/namespaces/shop/workflows/order%2F7%20a"),
            r#"DescribeWorkflowExecution ["shop", "order/7 a"]"#
        );
        assert_eq!(
            found(Method::POST, "/namespaces/shop/workflows/w/signal/go"),
            r#"SignalWorkflowExecution ["shop", "w", "go"]"#
        );
        assert_eq!(
            found(Method::GET, "/api/v1/namespaces/shop/schedules/s/ledger"),
            r#"ListOccurrences ["shop", "s"]"#
        );
        assert_eq!(
            found(
                Method::POST,
                "/api/v1/rpc/temporal.api.workflowservice.v1.WorkflowService/PollWorkflowTaskQueue"
            ),
            "PollWorkflowTaskQueue []"
        );
    }

    #[test]
    fn unknown_paths_and_methods_are_distinguished() {
        assert_eq!(found(Method::PUT, "/api/v1/namespaces/shop"), r#"[GET]"#);
        for path in [
            "/",
            "",
            "/api/v1/namespaces/shop/",
            "/api/v1/namespaces//workflows",
            "/nope",
            "/api/v1/namespaces/%ff",
        ] {
            assert_eq!(found(Method::GET, path), "nothing", "{path}");
        }
    }
}
