#include "storage/checkpoint.h"

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/write_batch.h>

#include <optional>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "storage/checkpoint_format.h"
#include "storage/mutex.h"
#include "storage/rocks_file_system.h"
#include "storage/sst_tail.h"
#include "storage/status_macros.h"

namespace hourglass {
namespace {

constexpr size_t kWriteBufferBytes = 8u << 20;
constexpr size_t kBlockCacheBytes = 4u << 20;
constexpr int kOpenFilesMax = 32;

rocksdb::Slice ToSlice(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
std::string_view View(const rocksdb::Slice& slice) {
  return {slice.data(), slice.size()};
}

// Everything small: the database holds some ten megabytes.
void BoundMemory(rocksdb::Options* options) {
  options->write_buffer_size = kWriteBufferBytes;
  options->max_write_buffer_number = 2;
  options->target_file_size_base = 8u << 20;
  options->max_bytes_for_level_base = 32u << 20;
  options->max_open_files = kOpenFilesMax;
  options->max_manifest_file_size = 1u << 20;
  options->writable_file_max_buffer_size = 256u << 10;
  options->compression = rocksdb::kNoCompression;
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = rocksdb::NewLRUCache(kBlockCacheBytes);
  table.block_size = 16u << 10;
  table.format_version = kSstFormatVersion;
  table.checksum = kSstChecksum;
  options->table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
}

// Nothing that runs by a timer, retries by itself or writes for people.
void KeepQuiet(rocksdb::Options* options) {
  options->info_log = NewSilentLogger();
  options->stats_dump_period_sec = 0;
  options->stats_persist_period_sec = 0;
  options->skip_stats_update_on_db_open = true;
  options->max_bgerror_resume_count = 0;
}

// Without threads of its own a database does the same in every run: no
// compaction, files opened one after the other, and flushes only where Commit
// asks and waits for one.
void KeepDeterministic(rocksdb::Options* options) {
  options->max_background_jobs = 1;
  options->max_file_opening_threads = 1;
  options->disable_auto_compactions = true;
  options->write_buffer_size = 8 * kWriteBufferBytes;
}

rocksdb::Options MakeOptions(rocksdb::Env* env, bool background) {
  rocksdb::Options options;
  options.env = env;
  options.create_if_missing = true;
  options.paranoid_checks = true;
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_background_jobs = 2;
  BoundMemory(&options);
  KeepQuiet(&options);
  if (!background) KeepDeterministic(&options);
  return options;
}

rocksdb::WriteOptions Synced() {
  rocksdb::WriteOptions options;
  options.sync = true;
  return options;
}

absl::Status CheckIdentity(const Path& dir, const std::string& stored,
                           const StoreId& id) {
  if (stored == EncodeIdentity(id)) return absl::OkStatus();
  if (stored.size() != 1 + kStoreIdBytes) {
    return absl::DataLossError(absl::StrCat(dir.string(), ": identity of ",
                                            stored.size(), " bytes; must be ",
                                            1 + kStoreIdBytes));
  }
  if (static_cast<uint8_t>(stored[0]) != kCheckpointVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat(dir.string(), ": checkpoint of format version ",
                     static_cast<uint8_t>(stored[0]),
                     "; this program reads version ", kCheckpointVersion));
  }
  return OfAnotherStore(absl::StrCat(
      dir.string(), ": checkpoint belongs to store ",
      absl::BytesToHexString(stored.substr(1)), ", not to ", id.ToHex()));
}

// Somewhat more than the batch of `update` will take: growing ten megabytes
// by doubling costs as much as writing them.
size_t BytesOf(const CheckpointUpdate& update) {
  size_t bytes = 256;
  for (const auto& change : update.hours) bytes += change.heads.size() + 96;
  for (const auto& [consumer, progress] : update.progress) {
    bytes += 8 * (progress.acked.size() + progress.attempts.size());
  }
  return bytes + 64 * (update.forgotten_hours.size() + update.queues.size() +
                       update.progress.size());
}

absl::Status MakeDir(FileSystem* fs, const Path& dir) {
  ASSIGN_OR_RETURN(const bool exists, fs->Exists(dir));
  if (!exists) RETURN_IF_ERROR(fs->CreateDir(dir));
  // Also when it exists: the life that made it may have ended before this.
  const Path parent = dir.parent_path();
  return fs->SyncDir(parent.empty() ? Path(".") : parent);
}

}  // namespace

class CheckpointStore::Impl {
 public:
  Impl(FileSystem* fs, const Path& dir)
      : dir_(dir),
        env_(rocksdb::NewCompositeEnv(std::make_shared<RocksFileSystem>(fs))) {}

  absl::Status Open(const StoreId& id, bool background);
  absl::Status Reopen();
  absl::Status OpenForRead(const StoreId& id);
  absl::StatusOr<CheckpointState> Load();
  absl::StatusOr<std::string> ReadHeads(Hour hour);
  absl::StatusOr<CheckpointRecord> Write(const CheckpointUpdate& update);

 private:
  // What state_hash is made of: one number for every counted key. An hour
  // takes 16 bytes this way, and a checkpoint reads nothing back.
  struct Hashes {
    void Set(Hour hour, uint64_t hash) { Replace(&hours[hour], hash); }
    void Set(const std::string& key, uint64_t hash) {
      Replace(&named[key], hash);
    }
    void Erase(Hour hour);
    void Replace(uint64_t* hash, uint64_t with) {
      sum ^= *hash ^ with;
      *hash = with;
    }
    absl::flat_hash_map<Hour, uint64_t> hours;
    absl::flat_hash_map<std::string, uint64_t> named;
    uint64_t sum = 0;  // XOR of all of them
  };

  absl::StatusOr<std::shared_ptr<rocksdb::DB>> Db();
  absl::StatusOr<std::string> Get(const std::string& key);
  absl::Status EnsureIdentity(const StoreId& id);
  absl::Status CheckLoaded(const CheckpointState& state) const;
  void CountEntry(std::string_view key, std::string_view value,
                  const CheckpointState& state);

  void PutCounted(const std::string& key, const std::string& value,
                  rocksdb::WriteBatch* batch);
  void PutHour(const CheckpointUpdate::HourChange& change,
               rocksdb::WriteBatch* batch);
  void ForgetHour(Hour hour, rocksdb::WriteBatch* batch);
  absl::Status Commit(rocksdb::WriteBatch* batch);
  absl::Status Fail(const absl::Status& status);

  const Path dir_;
  const std::unique_ptr<rocksdb::Env> env_;  // outlives the database

  Mutex mutex_;                      // guards db_ and status_
  std::shared_ptr<rocksdb::DB> db_;  // null: failed
  absl::Status status_;

  StoreId id_;
  bool background_ = true;

  // Of the one thread that loads and writes.
  size_t unflushed_bytes_ = 0;
  std::optional<CheckpointRecord> record_;  // unset until loaded
  Hashes hashes_;
};

void CheckpointStore::Impl::Hashes::Erase(Hour hour) {
  const auto it = hours.find(hour);
  if (it == hours.end()) return;
  sum ^= it->second;
  hours.erase(it);
}

// --- Open -------------------------------------------------------------------

absl::Status CheckpointStore::Impl::Open(const StoreId& id, bool background) {
  id_ = id;
  background_ = background;
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(FromRocksStatus(rocksdb::DB::Open(
      MakeOptions(env_.get(), background), dir_.string(), &db)));
  {
    MutexLock lock(&mutex_);
    db_.reset(db);
    status_ = absl::OkStatus();
  }
  return EnsureIdentity(id);
}

absl::Status CheckpointStore::Impl::Reopen() {
  {
    MutexLock lock(&mutex_);
    db_ = nullptr;
    // Readers meet this until there is a database again, however long that
    // takes on a full disk.
    status_ = absl::UnavailableError(
        absl::StrCat(dir_.string(), ": the checkpoint is not open"));
  }
  RETURN_IF_ERROR(Open(id_, background_));
  return Load().status();
}

absl::Status CheckpointStore::Impl::OpenForRead(const StoreId& id) {
  rocksdb::DB* db = nullptr;
  RETURN_IF_ERROR(FromRocksStatus(rocksdb::DB::OpenForReadOnly(
      MakeOptions(env_.get(), /*background=*/false), dir_.string(), &db)));
  {
    MutexLock lock(&mutex_);
    db_.reset(db);
  }
  ASSIGN_OR_RETURN(const std::string stored, Get(IdentityKey()));
  if (stored.empty()) return absl::OkStatus();
  return CheckIdentity(dir_, stored, id);
}

absl::Status CheckpointStore::Impl::EnsureIdentity(const StoreId& id) {
  ASSIGN_OR_RETURN(const std::string stored, Get(IdentityKey()));
  if (!stored.empty()) return CheckIdentity(dir_, stored, id);
  // A new database, or one of which nothing survived.
  ASSIGN_OR_RETURN(const std::string record, Get(RecordKey()));
  if (!record.empty()) {
    return absl::DataLossError(
        absl::StrCat(dir_.string(), ": checkpoint has no identity"));
  }
  rocksdb::WriteBatch batch;
  batch.Put(IdentityKey(), EncodeIdentity(id));
  return Commit(&batch);
}

// --- Load -------------------------------------------------------------------

absl::StatusOr<CheckpointState> CheckpointStore::Impl::Load() {
  ASSIGN_OR_RETURN(const std::shared_ptr<rocksdb::DB> db, Db());
  record_.reset();
  hashes_ = Hashes();
  CheckpointState state;
  const std::string heads(1, kHeadsPrefix);  // not read: some ten megabytes
  const rocksdb::Slice end = heads;
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &end;
  options.fill_cache = false;
  const std::unique_ptr<rocksdb::Iterator> it(db->NewIterator(options));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    if (View(it->key()) == IdentityKey()) continue;
    RETURN_IF_ERROR(DecodeEntry(View(it->key()), View(it->value()), &state));
    CountEntry(View(it->key()), View(it->value()), state);
  }
  RETURN_IF_ERROR(FromRocksStatus(it->status()));
  RETURN_IF_ERROR(CheckLoaded(state));
  record_ = state.record;
  return state;
}

void CheckpointStore::Impl::CountEntry(std::string_view key,
                                       std::string_view value,
                                       const CheckpointState& state) {
  if (key[0] == kRecordPrefix) return;
  if (key[0] == kHourPrefix) {
    hashes_.Set(state.hours.rbegin()->first, EntryHash(key, value));
  } else {
    hashes_.Set(std::string(key), EntryHash(key, value));
  }
}

absl::Status CheckpointStore::Impl::CheckLoaded(
    const CheckpointState& state) const {
  const CheckpointRecord& record = state.record;
  // Before the first checkpoint there is no record to hold a hash.
  const uint64_t expected =
      record.sequence == 0 ? 0 : record.state_hash ^ RecordHash(record);
  if (hashes_.sum == expected) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat(
      dir_.string(), ": checkpoint ", record.sequence,
      " does not match its state hash: a key is missing or altered"));
}

absl::StatusOr<std::string> CheckpointStore::Impl::ReadHeads(Hour hour) {
  return Get(HeadsKey(hour));
}

// "" if there is no such key; no value of ours is empty.
absl::StatusOr<std::string> CheckpointStore::Impl::Get(const std::string& key) {
  ASSIGN_OR_RETURN(const std::shared_ptr<rocksdb::DB> db, Db());
  std::string value;
  const rocksdb::Status status = db->Get(rocksdb::ReadOptions(), key, &value);
  if (status.IsNotFound()) return std::string();
  RETURN_IF_ERROR(FromRocksStatus(status));
  return value;
}

absl::StatusOr<std::shared_ptr<rocksdb::DB>> CheckpointStore::Impl::Db() {
  MutexLock lock(&mutex_);
  if (!status_.ok()) return status_;
  return db_;
}

// --- Write ------------------------------------------------------------------

absl::StatusOr<CheckpointRecord> CheckpointStore::Impl::Write(
    const CheckpointUpdate& update) {
  if (!record_.has_value()) RETURN_IF_ERROR(Load().status());
  rocksdb::WriteBatch batch(BytesOf(update));
  for (const auto& change : update.hours) PutHour(change, &batch);
  for (const Hour hour : update.forgotten_hours) ForgetHour(hour, &batch);
  for (const auto& [topic, facts] : update.queues) {
    PutCounted(QueueKey(topic), EncodeQueueFacts(facts), &batch);
  }
  for (const auto& [consumer, progress] : update.progress) {
    PutCounted(ProgressKey(consumer), EncodeProgress(progress), &batch);
  }
  CheckpointRecord record{.sequence = record_->sequence + 1,
                          .applied = update.applied,
                          .replay_from = update.replay_from,
                          .cursor = update.cursor};
  record.state_hash = hashes_.sum ^ RecordHash(record);
  batch.Put(RecordKey(), EncodeCheckpointRecord(record));
  RETURN_IF_ERROR(Commit(&batch));
  record_ = record;
  return record;
}

void CheckpointStore::Impl::PutCounted(const std::string& key,
                                       const std::string& value,
                                       rocksdb::WriteBatch* batch) {
  batch->Put(key, value);
  hashes_.Set(key, EntryHash(key, value));
}

void CheckpointStore::Impl::PutHour(const CheckpointUpdate::HourChange& change,
                                    rocksdb::WriteBatch* batch) {
  const std::string key = HourKey(change.hour);
  const std::string value = EncodeHourFacts(change.facts);
  batch->Put(key, value);
  hashes_.Set(change.hour, EntryHash(key, value));
  if (change.facts.retired) {
    batch->Delete(HeadsKey(change.hour));  // of files that are gone
  } else if (!change.heads.empty()) {
    batch->Put(HeadsKey(change.hour), ToSlice(change.heads));
  }
}

void CheckpointStore::Impl::ForgetHour(Hour hour, rocksdb::WriteBatch* batch) {
  batch->Delete(HourKey(hour));
  batch->Delete(HeadsKey(hour));
  hashes_.Erase(hour);
}

absl::Status CheckpointStore::Impl::Commit(rocksdb::WriteBatch* batch) {
  ASSIGN_OR_RETURN(const std::shared_ptr<rocksdb::DB> db, Db());
  rocksdb::Status status = db->Write(Synced(), batch);
  unflushed_bytes_ += batch->GetDataSize();
  if (status.ok() && !background_ && unflushed_bytes_ > kWriteBufferBytes) {
    unflushed_bytes_ = 0;
    status = db->Flush(rocksdb::FlushOptions());
  }
  return status.ok() ? absl::OkStatus() : Fail(FromRocksStatus(status));
}

// After a failed write RocksDB's files are in a state nobody has tested:
// close it (when the last reader lets go), and never come back.
absl::Status CheckpointStore::Impl::Fail(const absl::Status& status) {
  MutexLock lock(&mutex_);
  status_ = absl::Status(
      status.code(), absl::StrCat(dir_.string(), ": checkpoint not written: ",
                                  std::string(status.message())));
  db_.reset();
  return status_;
}

// --- CheckpointStore --------------------------------------------------------

CheckpointStore::CheckpointStore(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}
CheckpointStore::~CheckpointStore() = default;

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::Open(
    FileSystem* fs, const Path& dir, const StoreId& id, bool background) {
  RETURN_IF_ERROR(MakeDir(fs, dir));
  auto impl = std::make_unique<Impl>(fs, dir);
  RETURN_IF_ERROR(impl->Open(id, background));
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(std::move(impl)));
}

absl::StatusOr<std::unique_ptr<CheckpointStore>> CheckpointStore::OpenForRead(
    FileSystem* fs, const Path& dir, const StoreId& id) {
  auto impl = std::make_unique<Impl>(fs, dir);
  RETURN_IF_ERROR(impl->OpenForRead(id));
  return std::unique_ptr<CheckpointStore>(new CheckpointStore(std::move(impl)));
}

absl::StatusOr<CheckpointState> CheckpointStore::Load() {
  return impl_->Load();
}
absl::Status CheckpointStore::Reopen() { return impl_->Reopen(); }

absl::StatusOr<std::string> CheckpointStore::ReadHeads(Hour hour) {
  return impl_->ReadHeads(hour);
}
absl::StatusOr<CheckpointRecord> CheckpointStore::Write(
    const CheckpointUpdate& update) {
  return impl_->Write(update);
}

}  // namespace hourglass
