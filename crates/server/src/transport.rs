//! Words that SDKs look for when the transport refuses a request.

use tonic::Code;
use tonic::codegen::http::{HeaderValue, Response};

/// Says of a request that is too large what Temporal's server says; leaves all other answers alone.
///
/// A worker that sees these words fails its workflow task with the cause `GRPC_MESSAGE_TOO_LARGE`. The
/// code and words that tonic has would let it try again for ever.
pub(crate) fn too_large_as_temporal_says_it<B>(
    request_bytes_max: usize,
) -> impl Fn(Response<B>) -> Response<B> + Clone {
    let text =
        format!("grpc: received message after decompression larger than max {request_bytes_max}");
    let message = percent_encoded(&text);
    move |mut response| {
        let headers = response.headers_mut();
        let is_too_large = headers.get(MESSAGE).is_some_and(|value| {
            TOO_LARGE.iter().any(|words| value.as_bytes().starts_with(words.as_bytes()))
        });
        if is_too_large {
            headers.insert("grpc-status", HeaderValue::from(Code::ResourceExhausted as i32));
            headers.insert(MESSAGE, message.clone());
        }
        response
    }
}

const MESSAGE: &str = "grpc-message";

/// How tonic begins to say it, as it stands in the header: before and after decompression.
const TOO_LARGE: [&str; 2] =
    ["Error,%20decoded%20message%20length%20too%20large", "Error%20decompressing:%20size%20limit"];

fn percent_encoded(text: &str) -> HeaderValue {
    HeaderValue::from_str(&text.replace(' ', "%20"))
        .expect("letters, digits, colons and percent signs are allowed in a header")
}

#[cfg(test)]
mod tests {
    use tonic::Status;

    use super::*;

    fn translated(status: Status) -> (Code, String) {
        let response = too_large_as_temporal_says_it(4_194_304)(status.into_http::<()>());
        let status = Status::from_header_map(response.headers()).unwrap();
        (status.code(), status.message().to_owned())
    }

    #[test]
    fn too_large_requests_are_refused_in_the_words_workers_look_for() {
        let words = "grpc: received message after decompression larger than max 4194304";
        for tonics in [
            Status::out_of_range(
                "Error, decoded message length too large: found 5 bytes, the limit is: 4 bytes",
            ),
            Status::resource_exhausted(
                "Error decompressing: size limit, of 4 bytes, exceeded while decompressing message",
            ),
        ] {
            assert_eq!(translated(tonics), (Code::ResourceExhausted, words.to_owned()));
        }
    }

    #[test]
    fn other_errors_stay_as_they_are() {
        let status = Status::out_of_range("Error, something else");
        assert_eq!(translated(status), (Code::OutOfRange, "Error, something else".to_owned()));
    }
}
