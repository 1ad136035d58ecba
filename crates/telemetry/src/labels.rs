//! Labels whose values are known.

/// Writes an enum whose variants are the values of a label, and the list of them.
macro_rules! label {
    ($(#[$doc:meta])* $label:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $label {
            $($(#[$variant_doc])* $variant,)+
        }

        impl $label {
            /// All values, in the order of their numbers.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$variant),+];

            /// The value of the label.
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

label! {
    /// A verdict on a time of a schedule.
    Verdict {
        /// A run was started in time.
        Fired = "fired",
        /// A run was started late.
        Late = "late",
        /// No run was started, as the schedule's policy or state says.
        Skipped = "skipped",
        /// The time passed while nothing evaluated the schedule.
        Missed = "missed",
        /// The start didn't fit into the buffer.
        Dropped = "dropped",
        /// The spec leaves the time out.
        Excluded = "excluded",
        /// The start waits until other runs end.
        Buffered = "buffered",
    }
}

label! {
    /// What a call waits for.
    LongPoll {
        /// A workflow task.
        WorkflowTask = "workflow_task",
        /// An activity task.
        ActivityTask = "activity_task",
        /// The next event of a history.
        History = "history",
        /// A stage of an update.
        Update = "update",
        /// The answer to a query.
        Query = "query",
    }
}

label! {
    /// Why a call or a connection is refused.
    RefusalReason {
        /// Unanswered requests use the memory that is set aside for them.
        Memory = "memory",
        /// The message is larger than allowed.
        MessageSize = "message_size",
        /// As many connections are open as are allowed.
        Connections = "connections",
        /// The caller has no valid credentials.
        Credentials = "credentials",
        /// The caller may not make this call.
        Rights = "rights",
        /// A namespace or a principal has reached a limit of its own.
        Limit = "limit",
    }
}

label! {
    /// The protocol of a connection.
    Protocol {
        /// gRPC.
        Grpc = "grpc",
        /// The HTTP API.
        Http = "http",
        /// The port of metrics and health.
        Metrics = "metrics",
    }
}

impl std::fmt::Display for Protocol {
    /// The name of the protocol in the log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Grpc => "gRPC",
            Self::Http => "HTTP",
            Self::Metrics => "metrics",
        })
    }
}
