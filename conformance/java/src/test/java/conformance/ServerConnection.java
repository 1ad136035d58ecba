package conformance;

import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.netty.handler.ssl.SslContextBuilder;
import io.temporal.serviceclient.WorkflowServiceStubsOptions;
import java.io.File;
import javax.net.ssl.SSLException;

/**
 * How the environment says the server is reached: in plain text, or with TLS, a client certificate
 * and an API key.
 */
final class ServerConnection {
  private ServerConnection() {}

  static WorkflowServiceStubsOptions options() {
    WorkflowServiceStubsOptions.Builder options = WorkflowServiceStubsOptions.newBuilder();
    options.setTarget(System.getenv("TEMPORAL_ADDRESS"));
    String apiKey = System.getenv("TEMPORAL_API_KEY");
    if (apiKey != null) {
      options.addApiKey(() -> apiKey);
    }
    String authority = System.getenv("TEMPORAL_TLS_SERVER_CA_CERT_PATH");
    if (authority == null) {
      return options.build();
    }
    SslContextBuilder tls = GrpcSslContexts.forClient().trustManager(new File(authority));
    String certificate = System.getenv("TEMPORAL_TLS_CLIENT_CERT_PATH");
    if (certificate != null) {
      String key = System.getenv("TEMPORAL_TLS_CLIENT_KEY_PATH");
      tls.keyManager(new File(certificate), new File(key));
    }
    try {
      return options.setSslContext(tls.build()).build();
    } catch (SSLException error) {
      throw new IllegalStateException("the certificates that TEMPORAL_TLS_… names", error);
    }
  }
}
