package conformance;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.temporal.api.enums.v1.RetryState;
import io.temporal.api.enums.v1.WorkflowExecutionStatus;
import io.temporal.client.WorkflowFailedException;
import io.temporal.client.WorkflowStub;
import io.temporal.failure.ActivityFailure;
import io.temporal.failure.ApplicationFailure;
import io.temporal.failure.CanceledFailure;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

final class ActivitiesTest {
  private static Scene scene;

  @BeforeAll
  static void open() {
    scene = new Scene();
  }

  @AfterAll
  static void close() {
    scene.close();
  }

  @Test
  void workflowReturnsTheResultOfItsActivity() {
    WorkflowStub run = scene.start(Workflows.GreetByActivity.class, "Ada");
    assertEquals("Hello, Ada!", run.getResult(String.class));
  }

  @Test
  void localActivityLeavesOnlyAMarkerInTheHistory() {
    WorkflowStub run = scene.start(Workflows.GreetByLocalActivity.class, "Ada");
    assertEquals("Hello, Ada!", run.getResult(String.class));
    List<String> wanted =
        List.of(
            "WORKFLOW_EXECUTION_STARTED",
            "WORKFLOW_TASK_SCHEDULED",
            "WORKFLOW_TASK_STARTED",
            "WORKFLOW_TASK_COMPLETED",
            "MARKER_RECORDED",
            "WORKFLOW_EXECUTION_COMPLETED");
    assertEquals(wanted, scene.eventTypes(run));
  }

  @Test
  void failingActivityIsRetriedUntilItSucceeds() {
    WorkflowStub run = scene.start(Workflows.AttemptUntilSuccess.class);
    assertEquals(3, run.getResult(Integer.class));
  }

  @Test
  void heartbeatDetailsSurviveARetry() {
    WorkflowStub run = scene.start(Workflows.ResumeFromHeartbeat.class);
    assertEquals("page 7", run.getResult(String.class));
  }

  @Test
  void cancellationReachesWorkflowAndActivity() throws InterruptedException {
    WorkflowStub run = scene.start(Workflows.WaitForActivity.class);
    scene.activities.started.await();
    run.cancel();
    scene.activities.canceled.await();

    assertInstanceOf(CanceledFailure.class, failure(run).getCause());
    assertEquals(
        WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_CANCELED, run.describe().getStatus());
    assertTrue(scene.eventTypes(run).contains("ACTIVITY_TASK_CANCELED"));
  }

  @Test
  void failureCarriesItsMessageTypeAndDetailsToTheClient() {
    WorkflowStub run = scene.start(Workflows.FailInActivity.class);
    ActivityFailure activity = assertInstanceOf(ActivityFailure.class, failure(run).getCause());
    assertEquals("RunOutOfStock", activity.getActivityType());
    assertEquals(RetryState.RETRY_STATE_NON_RETRYABLE_FAILURE, activity.getRetryState());
    ApplicationFailure cause = assertInstanceOf(ApplicationFailure.class, activity.getCause());
    assertEquals("no more teapots", cause.getOriginalMessage());
    assertEquals("OutOfStock", cause.getType());
    assertEquals(3, cause.getDetails().get(0, Integer.class));
  }

  private static WorkflowFailedException failure(WorkflowStub run) {
    return assertThrows(WorkflowFailedException.class, () -> run.getResult(Void.class));
  }
}
