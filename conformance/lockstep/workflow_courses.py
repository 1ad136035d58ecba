"""Random courses of one workflow id: clients and a worker that do anything in any order.

A course is a seed and a number of steps. Each step is chosen among those that make sense in the state that the
server has shown, so two servers that show the same are asked the same. After each step both say everything:
what was answered, the history, the description.
"""

import random
from dataclasses import dataclass

from client_steps import ClientSteps
from driver import Driver
from scene import Scene
from temporalio.service import RPCError
from worker_steps import WorkerSteps

STEPS = 14


@dataclass(frozen=True)
class Course:
    seed: int
    steps: int = STEPS


def course(rng: random.Random) -> Course:
    return Course(rng.randrange(1_000_000_000))


async def take(scene: Scene, course: Course) -> list[str]:
    driver = Driver(scene, random.Random(course.seed))
    sides = [WorkerSteps(driver), WorkerSteps(driver), ClientSteps(driver)]
    try:
        driver.log.append(f"seed {course.seed}")
        await sides[-1].begin()
        for _ in range(course.steps):
            steps = driver.rng.choice(sides).possible()
            if steps and not driver.is_over:
                step = driver.rng.choice(steps)
                driver.log.append(f"{step.__name__}:")
                await step()
                if not driver.is_over:
                    await driver.look()
    except (AssertionError, RPCError) as problem:
        driver.log.append(f"the course broke off: {problem!r}")
    finally:
        await driver.end()
    return driver.log
