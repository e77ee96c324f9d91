import { getContainerRuntimeClient } from 'testcontainers';

/** Whether a Docker engine answers; testcontainers finds out in milliseconds. */
export async function hasEngine(): Promise<boolean> {
  try {
    await getContainerRuntimeClient();
    return true;
  } catch {
    return false;
  }
}
