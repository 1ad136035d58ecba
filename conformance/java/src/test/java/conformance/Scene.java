package conformance;

import io.temporal.client.WorkflowClient;
import io.temporal.client.WorkflowOptions;
import io.temporal.client.WorkflowStub;
import io.temporal.serviceclient.WorkflowServiceStubs;
import io.temporal.worker.Worker;
import io.temporal.worker.WorkerFactory;
import io.temporal.worker.WorkerOptions;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * What a test class needs: a client, a worker on a task queue of its own, and ids that nobody else
 * uses, so that the suite can share the server with others.
 *
 * <p>TEMPORAL_ADDRESS names the server; its namespace is {@code default}. TEMPORAL_TLS_… and
 * TEMPORAL_API_KEY are the credentials.
 */
final class Scene implements AutoCloseable {
  final WorkflowClient client;
  final ActivitiesImpl activities = new ActivitiesImpl();
  final String taskQueue = "java-" + UUID.randomUUID();
  private final WorkflowServiceStubs service;
  private final WorkerFactory factory;

  Scene() {
    service = WorkflowServiceStubs.newConnectedServiceStubs(ServerConnection.options(), null);
    client = WorkflowClient.newInstance(service);
    factory = WorkerFactory.newInstance(client);
    // Heartbeats leave at once: a cancellation comes back with the answer to one.
    WorkerOptions options =
        WorkerOptions.newBuilder().setMaxHeartbeatThrottleInterval(Duration.ofMillis(50)).build();
    Worker worker = factory.newWorker(taskQueue, options);
    worker.registerWorkflowImplementationTypes(Workflows.ALL);
    worker.registerActivitiesImplementations(activities);
    factory.start();
  }

  /** Starts a run under an id that no other test and no earlier run of the suite has used. */
  WorkflowStub start(Class<?> type, Object... input) {
    return startAs("java-" + UUID.randomUUID(), type, input);
  }

  WorkflowStub startAs(String workflowId, Class<?> type, Object... input) {
    return startWith(WorkflowOptions.newBuilder().setWorkflowId(workflowId), type, input);
  }

  /** Starts a workflow that is run again at once when it fails. */
  WorkflowStub startRetried(Class<?> type, Object... input) {
    WorkflowOptions.Builder options = WorkflowOptions.newBuilder();
    options.setWorkflowId("java-" + UUID.randomUUID()).setRetryOptions(Workflows.atOnce());
    return startWith(options, type, input);
  }

  private WorkflowStub startWith(WorkflowOptions.Builder given, Class<?> type, Object... input) {
    WorkflowOptions options = given.setTaskQueue(taskQueue).build();
    WorkflowStub run = client.newUntypedWorkflowStub(type.getSimpleName(), options);
    run.start(input);
    return run;
  }

  /** The types of all events of a run, in order. */
  List<String> eventTypes(WorkflowStub run) {
    String workflowId = run.getExecution().getWorkflowId();
    String runId = run.getExecution().getRunId();
    return client.fetchHistory(workflowId, runId).getEvents().stream()
        .map(event -> event.getEventType().name().replace("EVENT_TYPE_", ""))
        .toList();
  }

  @Override
  public void close() {
    factory.shutdown();
    factory.awaitTermination(10, TimeUnit.SECONDS);
    service.shutdown();
    service.awaitTermination(10, TimeUnit.SECONDS);
  }
}
