// The official Node client against a server: one line a scenario.
//
//   client.js ENDPOINT tls|plaintext NAME[,NAME...]
//
// Prints "RESULT scenario ok|fail milliseconds note" for each.
'use strict';

const crypto = require('crypto');
const {
  ConsumeResult, FilterExpression, Producer, PushConsumer, SimpleConsumer,
} = require('rocketmq-client-nodejs');

const [endpoints, mode, list] = process.argv.slice(2);
const names = list.split(',');
const run = crypto.randomBytes(4).toString('hex');
const COMMIT = 1;
const ROLLBACK = 2;
const quiet = { info() {}, debug() {}, warn() {}, error: console.error };
const common = {
  endpoints, namespace: '', sslEnabled: mode === 'tls', logger: quiet,
};

// Not set where the server lets everybody in.
if (process.env.HOURGLASS_KEY) {
  common.sessionCredentials = {
    accessKey: process.env.HOURGLASS_KEY,
    accessSecret: process.env.HOURGLASS_SECRET,
  };
}
// As in the protocol: the package does not export them.
const TAG = 1;
const SQL = 2;

const topicOf = (name) => `node-${mode}-${name}-${run}`;
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

function expect(condition, what) {
  if (!condition) throw new Error(what);
}

function message(name, body = 'hello', fields = {}) {
  return { topic: topicOf(name), body: Buffer.from(body), ...fields };
}

// A simple consumer with a group of its own.
class Simple {
  constructor(name, tags = '*', awaitDuration = 5000, kind = TAG) {
    this.consumer = new SimpleConsumer({
      ...common,
      consumerGroup: `group-${topicOf(name)}`,
      subscriptions: new Map([[topicOf(name), new FilterExpression(tags, kind)]]),
      awaitDuration,
    });
  }

  // `count` messages, or fewer when the time is over.
  async take({ count = 1, ms = 8000, batch = 16, ack = true } = {}) {
    const got = [];
    const end = Date.now() + ms;
    while (got.length < count && Date.now() < end) {
      for (const view of await this.consumer.receive(batch, 30000)) {
        this.arrivedMs = Date.now();
        got.push(view);
        if (ack) await this.consumer.ack(view);
      }
    }
    return got;
  }
}

async function withSimple(consumer, body) {
  await consumer.consumer.startup();
  try {
    return await body(consumer);
  } finally {
    await consumer.consumer.shutdown();
  }
}

let producer;

const scenarios = {
  normal: () => withSimple(new Simple('normal'), async (consumer) => {
    const receipt = await producer.send(message('normal', 'hello', {
      tag: 'a', keys: ['k1'], properties: new Map([['colour', 'red']]),
    }));
    expect(receipt.messageId === receipt.transactionId, 'transaction id');
    const got = await consumer.take();
    expect(got.length === 1, `${got.length} messages`);
    expect(got[0].body.toString() === 'hello' && !got[0].corrupted, 'body');
    expect(got[0].messageId === receipt.messageId, 'id');
    expect(got[0].tag === 'a' && got[0].keys.includes('k1'), 'tag and keys');
    expect(got[0].properties.get('colour') === 'red', 'property');
    expect(got[0].deliveryAttempt === 1, `attempt ${got[0].deliveryAttempt}`);
    expect((await consumer.take({ ms: 1000 })).length === 0,
      'acknowledged, and again');
  }),

  delay: () => withSimple(new Simple('delay'), async (consumer) => {
    const dueMs = Date.now() + 2000;
    const receipt = await producer.send(message('delay', 'later', {
      deliveryTimestamp: new Date(dueMs),
    }));
    expect(receipt.recallHandle, 'no recall handle');
    const got = await consumer.take();
    expect(got.length === 1, `${got.length} messages`);
    const lateMs = consumer.arrivedMs - dueMs;
    expect(lateMs >= 0, `${-lateMs} ms early`);
    expect(lateMs < 1000, `${lateMs} ms late`);
    return `${lateMs} ms late`;
  }),

  recall_before: () => withSimple(
    new Simple('recall_before', '*', 3000), async (consumer) => {
      const receipt = await producer.send(message('recall_before', 'never', {
        deliveryTimestamp: new Date(Date.now() + 1500),
      }));
      const recalled = await producer.recallMessage(
        topicOf('recall_before'), receipt.recallHandle);
      expect(recalled.messageId === receipt.messageId, 'another id');
      expect((await consumer.take({ ms: 3000 })).length === 0,
        'recalled, and delivered');
    }),

  recall_after: () => withSimple(
    new Simple('recall_after'), async (consumer) => {
      const receipt = await producer.send(message('recall_after', 'gone', {
        deliveryTimestamp: new Date(Date.now() + 500),
      }));
      expect((await consumer.take()).length === 1, 'not delivered');
      try {
        await producer.recallMessage(topicOf('recall_after'),
          receipt.recallHandle);
      } catch (error) {
        expect(String(error.code || error).includes('40401'), String(error));
        return error.name;
      }
      throw new Error('recalled what was delivered');
    }),

  past: () => withSimple(new Simple('past'), async (consumer) => {
    const beganMs = Date.now();
    await producer.send(message('past', 'now', {
      deliveryTimestamp: new Date(beganMs - 3600000),
    }));
    expect((await consumer.take()).length === 1, 'not delivered');
    return `${Date.now() - beganMs} ms`;
  }),

  over_limit: async () => {
    try {
      await producer.send(message('over_limit', 'no', {
        deliveryTimestamp: new Date(Date.now() + 20 * 366 * 86400000),
      }));
    } catch (error) {
      expect(String(error).includes('max is'), String(error));
      return error.name;
    }
    throw new Error('accepted');
  },

  nack: () => withSimple(new Simple('nack'), async (consumer) => {
    await producer.send(message('nack'));
    const [first] = await consumer.take({ ack: false });
    const beganMs = Date.now();
    await consumer.consumer.changeInvisibleDuration(first, 1000);
    const [second] = await consumer.take();
    expect(second, 'not delivered again');
    expect(second.deliveryAttempt === 2, `attempt ${second.deliveryAttempt}`);
    return `again after ${Date.now() - beganMs} ms`;
  }),

  tag: () => withSimple(
    new Simple('tag', 'a || c', 2000), async (consumer) => {
      for (const tag of 'abc') {
        await producer.send(message('tag', tag, { tag }));
      }
      const got = await consumer.take({ count: 3, ms: 3000 });
      const tags = got.map((view) => view.tag).sort().join();
      expect(tags === 'a,c', tags);
    }),

  sql: () => withSimple(
    new Simple('sql', "price BETWEEN 10 AND 99 AND TAGS <> 'b'", 2000, SQL),
    async (consumer) => {
      for (const [tag, price] of [['a', '5'], ['b', '20'], ['c', '30'], ['d']]) {
        const properties = new Map(price ? [['price', price]] : []);
        await producer.send(message('sql', tag, { tag, properties }));
      }
      const got = await consumer.take({ count: 2, ms: 3000 });
      const tags = got.map((view) => view.tag).join();
      expect(tags === 'c', tags);
    }),

  fifo: () => withSimple(new Simple('fifo', '*', 1000), async (consumer) => {
    for (let i = 0; i < 4; ++i) {
      await producer.send(message('fifo', `${i}`, { messageGroup: 'g' }));
    }
    let order = '';
    while (order.length < 4) {
      const [one] = await consumer.take({ batch: 1, ack: false });
      expect(one, `nothing after ${order}`);
      const more = await consumer.take({ ms: 200, batch: 1, ack: false });
      expect(more.length === 0, 'two batches of a group at once');
      order += one.body.toString();
      await consumer.consumer.ack(one);
    }
    expect(order === '0123', order);
  }),

  push: async () => {
    const good = new Map();
    let failed = false;
    const consumer = new PushConsumer({
      ...common,
      consumerGroup: `group-${topicOf('push')}`,
      subscriptions: new Map([[topicOf('push'), FilterExpression.SUB_ALL]]),
      messageListener: {
        async consume(view) {
          const body = view.body.toString();
          if (body === '0' && !failed) {
            failed = true;
            return ConsumeResult.FAILURE;
          }
          good.set(body, view.deliveryAttempt);
          return ConsumeResult.SUCCESS;
        },
      },
    });
    await consumer.startup();
    try {
      const beganMs = Date.now();
      for (let i = 0; i < 10; ++i) await producer.send(message('push', `${i}`));
      while (good.size < 10 && Date.now() < beganMs + 20000) await sleep(20);
      expect(good.size === 10, `${[...good.keys()]}`);
      expect(good.get('0') === 2, `attempt ${good.get('0')}`);
      return `all after ${Date.now() - beganMs} ms`;
    } finally {
      await consumer.shutdown();
    }
  },

  transaction: () => withSimple(
    new Simple('transaction', '*', 2000), async (consumer) => {
      const first = producer.beginTransaction();
      await producer.send(message('transaction', 'yes'), first);
      expect((await consumer.take({ ms: 1000 })).length === 0,
        'a half message');
      await first.commit();
      const second = producer.beginTransaction();
      await producer.send(message('transaction', 'no'), second);
      await second.rollback();
      const got = await consumer.take({ count: 2, ms: 3000 });
      const bodies = got.map((view) => view.body.toString()).join();
      expect(bodies === 'yes', bodies);
      expect(got[0].properties.get('__transactionId__'), 'transaction id');
    }),

  // The server asks how a forgotten transaction ended.
  orphan: () => withSimple(
    new Simple('orphan', '*', 2000), async (consumer) => {
      await producer.send(message('orphan', 'orphan'),
        producer.beginTransaction());
      const got = await consumer.take({ ms: 12000 });
      expect(got.length === 1, 'never asked, or not committed');
    }),
};

async function main() {
  producer = new Producer({
    ...common,
    topic: names.map(topicOf),
    checker: {
      check: async (view) => (
        view.body.toString() === 'orphan' ? COMMIT : ROLLBACK),
    },
  });
  await producer.startup();
  for (const name of names) {
    const beganMs = Date.now();
    let result = 'ok';
    let note = '';
    try {
      note = await scenarios[name]() || '';
    } catch (error) {
      console.error(error);
      result = 'fail';
      note = String(error).replace(/\n/g, ' ');
    }
    console.log(`RESULT ${name} ${result} ${Date.now() - beganMs} ${note}`);
  }
  await producer.shutdown();
  process.exit(0);
}

main();
