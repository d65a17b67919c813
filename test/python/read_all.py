"""Reads a topic by a client library that is not Java and says what was there, in the words of ReadAll.java.

read_all.py LIBRARY --bootstrap S --topic T --isolation read_committed|read_uncommitted --to 0:120,1:77

LIBRARY is confluent (librdkafka) or kafka-python. Each partition is read from its begin to the end offset given, not
included. Prints one JSON line a partition: partition, position, records, first, last and sha256 over the lines
PARTITION OFFSET TIMESTAMP TYPE KEY VALUE HEADER:VALUE,...  (all bytes Base64, null is ~).

A consumer steps over markers without a record, so the end is judged by position (librdkafka tells the end of a
partition by an event instead). Exit code 3 when the ends are not reached in time.
"""

import argparse
import base64
import hashlib
import json
import sys
import time

TIME_LIMIT_S = 60


class Seen:
    def __init__(self, end):
        self.end = end
        self.records = 0
        self.first = -1
        self.last = -1
        self.position = 0
        self.digest = hashlib.sha256()

    def take(self, partition, offset, timestamp, kind, key, value, headers):
        if offset >= self.end:
            return
        if offset <= self.last:
            raise SystemExit(f"partition {partition}: offset {offset} after {self.last}")
        listed = ",".join(f"{text(name.encode())}:{text(content)}" for name, content in headers)
        line = f"{partition} {offset} {timestamp} {kind} {text(key)} {text(value)} {listed}\n"
        self.digest.update(line.encode())
        if self.first < 0:
            self.first = offset
        self.last = offset
        self.records += 1


def text(content):
    return "~" if content is None else base64.b64encode(content).decode()


def read_confluent(options, seen):
    from confluent_kafka import OFFSET_BEGINNING, TIMESTAMP_CREATE_TIME, Consumer, KafkaError, TopicPartition

    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "read-all",
            "isolation.level": options.isolation,
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([TopicPartition(options.topic, number, OFFSET_BEGINNING) for number in seen])
    going = set(seen)
    deadline = time.monotonic() + TIME_LIMIT_S
    while going and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is None:
            continue
        one = seen[message.partition()]
        if message.error():
            if message.error().code() != KafkaError._PARTITION_EOF:
                raise SystemExit(str(message.error()))
            one.position = message.offset()
            if one.position >= one.end:
                going.discard(message.partition())
            continue
        kind, timestamp = message.timestamp()
        one.take(
            message.partition(),
            message.offset(),
            timestamp,
            "CreateTime" if kind == TIMESTAMP_CREATE_TIME else "LogAppendTime",
            message.key(),
            message.value(),
            message.headers() or [],
        )
        one.position = message.offset() + 1
        if one.position >= one.end:
            going.discard(message.partition())
    consumer.close()
    return going


def read_kafka_python(options, seen):
    from kafka import KafkaConsumer, TopicPartition

    consumer = KafkaConsumer(
        bootstrap_servers=options.bootstrap.split(","),
        isolation_level=options.isolation,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        check_crcs=True,
    )
    assigned = [TopicPartition(options.topic, number) for number in seen]
    consumer.assign(assigned)
    consumer.seek_to_beginning(*assigned)
    going = set(assigned)
    deadline = time.monotonic() + TIME_LIMIT_S
    while going and time.monotonic() < deadline:
        for at, records in consumer.poll(timeout_ms=200).items():
            one = seen[at.partition]
            for record in records:
                kind = "CreateTime" if record.timestamp_type == 0 else "LogAppendTime"
                one.take(
                    record.partition, record.offset, record.timestamp, kind, record.key, record.value, record.headers
                )
        for at in list(going):
            one = seen[at.partition]
            one.position = consumer.position(at)
            if one.position >= one.end:
                going.discard(at)
    consumer.close()
    return {at.partition for at in going}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=["confluent", "kafka-python"])
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--isolation", required=True)
    parser.add_argument("--to", required=True)
    options = parser.parse_args()
    seen = {int(number): Seen(int(end)) for number, end in (pair.split(":") for pair in options.to.split(","))}
    read = read_confluent if options.library == "confluent" else read_kafka_python
    left = read(options, seen)
    for number, one in sorted(seen.items()):
        report = {"partition": number, "position": one.position, "records": one.records}
        report |= {"first": one.first, "last": one.last, "sha256": one.digest.hexdigest()}
        print(json.dumps(report))
    if left:
        print(f"not reached: partitions {sorted(left)}", file=sys.stderr)
        raise SystemExit(3)


main()
