import type { ChildProcess } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { briefJvm, classPath, javaCommand, type KafkaVersion } from './kafka-home.ts';
import { endAtOnce, ended, endGently, hasEnded, spawnTracked } from './processes.ts';

export interface BrokerSpec {
  version: KafkaVersion;
  id: number;
  host: string;
  port: number;
  dir: string;
  heapMb: number;
  longLived: boolean;
  properties: Readonly<Record<string, string>>;
}

const LOG4J2 = `status=warn
appender.out.type=Console
appender.out.name=out
appender.out.layout.type=PatternLayout
appender.out.layout.pattern=%d{HH:mm:ss,SSS} %p %m (%c{1})%n
rootLogger.level=info
rootLogger.appenderRef.out.ref=out
`;

const LOG4J1 = `log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{HH:mm:ss,SSS} %p %m (%c{1})%n
`;

/** One real broker (KRaft, broker and controller in one process): its files, its process, its end. */
export class KafkaBroker {
  readonly id: number;
  readonly host: string;
  readonly port: number;
  /** Where the partition folders lie (`TOPIC-N/*.log`). */
  readonly logDir: string;
  /** What the process printed, all starts after each other. */
  readonly logFile: string;
  readonly #spec: BrokerSpec;
  #child: ChildProcess | undefined;

  constructor(spec: BrokerSpec) {
    this.#spec = spec;
    this.id = spec.id;
    this.host = spec.host;
    this.port = spec.port;
    this.logDir = join(spec.dir, 'data');
    this.logFile = join(spec.dir, 'broker.log');
  }

  get pid(): number | undefined {
    return this.running ? this.#child?.pid : undefined;
  }

  get running(): boolean {
    return this.#child !== undefined && !hasEnded(this.#child);
  }

  async format(clusterId: string): Promise<void> {
    mkdirSync(this.#spec.dir, { recursive: true });
    const properties = { ...this.#spec.properties, 'log.dirs': this.logDir };
    const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}`);
    writeFileSync(this.#path('server.properties'), `${lines.join('\n')}\n`);
    writeFileSync(this.#path('log4j2.properties'), LOG4J2);
    writeFileSync(this.#path('log4j.properties'), LOG4J1);
    const arguments_ = ['format', '-t', clusterId, '-c', this.#path('server.properties')];
    const child = this.#java([...briefJvm, '-Xmx128m'], 'kafka.tools.StorageTool', arguments_);
    const { code } = await ended(child);
    if (code !== 0) throw new Error(`format of broker ${this.id} failed\n${this.log()}`);
  }

  start(): void {
    if (this.running) throw new Error(`broker ${this.id} runs already`);
    const { heapMb, longLived } = this.#spec;
    const jvm = [`-Xmx${heapMb}m`, '-XX:+UseSerialGC', '-XX:-UsePerfData', '-Xshare:auto'];
    if (!longLived) jvm.push('-XX:TieredStopAtLevel=1');
    this.#child = this.#java(jvm, 'kafka.Kafka', [this.#path('server.properties')]);
    // A broker alone keeps no script from ending; the reaper then ends the broker.
    this.#child.unref();
  }

  /** Controlled shutdown, as an operator would. */
  async stop(): Promise<void> {
    if (this.#child !== undefined) await endGently(this.#child);
  }

  async kill(): Promise<void> {
    if (this.#child !== undefined) await endAtOnce(this.#child);
  }

  /** SIGSTOP: connections stay open and nothing answers, until `resume`. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  log(lines = 30): string {
    if (!existsSync(this.logFile)) return '(no log)';
    return readFileSync(this.logFile, 'utf8').trimEnd().split('\n').slice(-lines).join('\n');
  }

  #path(name: string): string {
    return join(this.#spec.dir, name);
  }

  #java(jvm: readonly string[], main: string, args: readonly string[]): ChildProcess {
    const places = [
      `-Dlog4j2.configurationFile=${this.#path('log4j2.properties')}`,
      `-Dlog4j.configuration=file:${this.#path('log4j.properties')}`,
      // codecs unpack native parts there, and a killed broker removes none of them
      `-Djava.io.tmpdir=${this.#spec.dir}`,
    ];
    const log = openSync(this.logFile, 'a');
    try {
      // To a file and not to a pipe, so that a broker that is to live on does not end with its reader.
      return spawnTracked(
        javaCommand(),
        [...jvm, ...places, '-cp', classPath(this.#spec.version), main, ...args],
        { cwd: this.#spec.dir, stdio: ['ignore', log, log] },
      );
    } finally {
      closeSync(log);
    }
  }
}
