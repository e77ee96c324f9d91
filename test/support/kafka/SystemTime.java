package org.apache.kafka.common.utils;

import java.util.function.Supplier;

/** Stands in for Kafka's class of this name, from which its processes have the time: here it is ahead, by a number of milliseconds. */
class SystemTime implements Time {
    private static final SystemTime SYSTEM_TIME = new SystemTime();
    private static final long AHEAD_MS = Long.getLong("tablog.test.clockAheadMs");

    public static SystemTime getSystemTime() {
        return SYSTEM_TIME;
    }

    @Override
    public long milliseconds() {
        return System.currentTimeMillis() + AHEAD_MS;
    }

    @Override
    public long nanoseconds() {
        return System.nanoTime();
    }

    @Override
    public void sleep(long ms) {
        Utils.sleep(ms);
    }

    @Override
    public void waitObject(Object object, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
        synchronized (object) {
            while (!condition.get()) {
                long left = deadlineMs - milliseconds();
                if (left <= 0) throw new org.apache.kafka.common.errors.TimeoutException("Condition not satisfied before deadline");
                object.wait(left);
            }
        }
    }
}
