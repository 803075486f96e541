#include "samplestore/sql/sql_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "base/file_descriptor.h"
#include "base/files.h"
#include "base/json.h"
#include "samplestore/sql/schema.h"

namespace assay::samplestore {
namespace {

constexpr int64_t kPage = 500;  ///< measurements that ForEach has in memory

}  // namespace

std::string LockOf(const MemoKey& key) {
  return key.parameterized_id + "\n" + key.entity_id;
}

SqlStore::SqlStore(std::string url, std::string refused, std::unique_ptr<Connection> connection)
    : url_(std::move(url)),
      refused_(std::move(refused)),
      connection_(std::move(connection)),
      dictionary_(*connection_),
      writer_(*connection_, dictionary_),
      reader_(*connection_, dictionary_) {}

Status SqlStore::CheckSame() {
  return Try([&](Attempt) -> Status {
    ASSAY_RETURN_IF_ERROR(connection_->CheckSame());
    ASSAY_ASSIGN_OR_RETURN(const int64_t version, SchemaVersion(*connection_));
    ASSAY_RETURN_IF_ERROR(CheckNotNewer(*connection_, version));
    return CheckIdentity(Finding::kTold);
  });
}

Status SqlStore::Append(const Measurement& measurement) {
  return AppendClaimed(measurement, 0).status();
}

Result<AppendResult> SqlStore::AppendClaimed(const Measurement& measurement, int64_t fence) {
  Result<AppendResult> result = Try([&](Attempt attempt) { return AddInTransaction(measurement, fence, attempt); });
  if (result.ok() && *result == AppendResult::kAdded) {
    return result;
  }
  const Status logged = LogRefused(measurement);
  if (result.ok()) {
    ASSAY_RETURN_IF_ERROR(logged);
    return result;
  }
  const std::string where = logged.ok() ? "what was measured is in " + RefusedFile() : logged.message();
  return Status(result.status().code(), fmt::format("{}; {}", result.status().message(), where));
}

Status SqlStore::AddTerms(const Prepared& prepared) {
  if (writer_.KnowsTerms(prepared)) {
    return Status::Ok();
  }
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, BeginWriting());
  ASSAY_RETURN_IF_ERROR(writer_.AddTerms(prepared));
  return transaction.Commit();
}

Result<AppendResult> SqlStore::AddInTransaction(const Measurement& measurement, int64_t fence, Attempt attempt) {
  const Prepared prepared({&measurement, 1});
  ASSAY_RETURN_IF_ERROR(AddTerms(prepared));
  ASSAY_ASSIGN_OR_RETURN(Transaction transaction, BeginWriting());
  if (fence != 0) {
    ASSAY_RETURN_IF_ERROR(connection_->Lock(LockOf(KeyOf(measurement))));
  }
  ASSAY_ASSIGN_OR_RETURN(const bool has_uid, HasUid(measurement.uid));
  if (has_uid && attempt == Attempt::kAgain) {
    return AppendResult::kAdded;  // the first attempt was written, and its answer lost
  }
  if (has_uid) {
    return Status::InvalidArgument(
        fmt::format("store {} has a measurement with uid {} already", connection_->name(), measurement.uid));
  }
  if (fence != 0) {
    ASSAY_ASSIGN_OR_RETURN(const bool is_ours, EndClaim(KeyOf(measurement), fence));
    if (!is_ours) {
      return AppendResult::kRefused;
    }
  }
  ASSAY_RETURN_IF_ERROR(writer_.Write(prepared));
  ASSAY_RETURN_IF_ERROR(transaction.Commit());
  return AppendResult::kAdded;
}

Result<bool> SqlStore::HasUid(std::string_view uid) {
  ASSAY_ASSIGN_OR_RETURN(const StatementPtr exists, connection_->Prepare("SELECT 1 FROM measurements WHERE uid = ?"));
  return exists->Bind(uid).Step();
}

Result<std::vector<Measurement>> SqlStore::WithoutKnown(std::span<const Measurement> measurements) {
  std::set<std::string_view> seen;
  std::vector<Measurement> added;
  for (const Measurement& measurement : measurements) {
    ASSAY_ASSIGN_OR_RETURN(const bool known, HasUid(measurement.uid));
    if (!known && seen.insert(measurement.uid).second) {
      added.push_back(measurement);
    }
  }
  return added;
}

Result<int64_t> SqlStore::AppendNew(std::span<const Measurement> measurements) {
  // Of a second attempt those that the first wrote are known; they count.
  std::vector<Measurement> added;
  return Try([&](Attempt attempt) -> Result<int64_t> {
    ASSAY_RETURN_IF_ERROR(AddTerms(Prepared(measurements)));
    ASSAY_ASSIGN_OR_RETURN(Transaction transaction, BeginWriting());
    ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> missing, WithoutKnown(measurements));
    if (attempt == Attempt::kFirst) {
      added = missing;
    }
    ASSAY_RETURN_IF_ERROR(writer_.Write(Prepared(missing)));
    ASSAY_RETURN_IF_ERROR(transaction.Commit());
    return std::ssize(added);
  });
}

Status SqlStore::LogRefused(const Measurement& measurement) {
  ASSAY_RETURN_IF_ERROR(MakeDirectories(RefusedFile().substr(0, RefusedFile().rfind('/') + 1)));
  const std::string line = DumpJson(ToJson(measurement)) + "\n";
  const FileDescriptor log = OpenFile(RefusedFile().c_str(), O_WRONLY | O_APPEND | O_CREAT, 0644);
  const auto failure = [this] { return ErrnoStatus(errno, "write a refused measurement to", RefusedFile()); };
  struct stat before = {};
  // Others append, too: what they wrote must not be cut off with half a line of ours.
  if (!log.valid() || RetryOnSignal([&] { return ::flock(log.get(), LOCK_EX); }) != 0 ||
      ::fstat(log.get(), &before) != 0) {
    return failure();
  }
  if (WriteAll(log.get(), std::as_bytes(std::span(line)))) {
    return Status::Ok();
  }
  Status status = failure();
  // The next line would go on where half of this one ends.
  [[maybe_unused]] const int cut = ::ftruncate(log.get(), before.st_size);
  return status;
}

Result<int64_t> SqlStore::Remove(const MeasurementFilter& filter) {
  return Try([&](Attempt) -> Result<int64_t> {
    ASSAY_ASSIGN_OR_RETURN(Transaction transaction, BeginWriting());
    ASSAY_ASSIGN_OR_RETURN(const std::vector<int64_t> arrivals, reader_.Arrivals(filter));
    for (const int64_t arrival : arrivals) {
      ASSAY_RETURN_IF_ERROR(RemoveOne(arrival));
    }
    ASSAY_RETURN_IF_ERROR(transaction.Commit());
    return std::ssize(arrivals);
  });
}

Status SqlStore::RemoveOne(int64_t arrival) {
  ASSAY_ASSIGN_OR_RETURN(const std::optional<Measurement> measurement, reader_.Read(arrival));
  if (!measurement) {
    return Status::Ok();
  }
  const Prepared prepared({&*measurement, 1});
  for (const auto* lists : {&prepared.descriptions, &prepared.found_by}) {
    for (const Term& term : lists->front()) {
      ASSAY_ASSIGN_OR_RETURN(const int64_t id, dictionary_.Find(term));
      ASSAY_ASSIGN_OR_RETURN(const StatementPtr remove,
                             connection_->Prepare("DELETE FROM postings WHERE term_id = ? AND arrival = ?"));
      ASSAY_RETURN_IF_ERROR(remove->Bind(id).Bind(arrival).Run());
    }
  }
  for (const char* remove : {"DELETE FROM contents WHERE arrival = ?", "DELETE FROM measurements WHERE arrival = ?"}) {
    ASSAY_ASSIGN_OR_RETURN(const StatementPtr statement, connection_->Prepare(remove));
    ASSAY_RETURN_IF_ERROR(statement->Bind(arrival).Run());
  }
  return Status::Ok();
}

Result<std::optional<Measurement>> SqlStore::FindMeasured(const MemoKey& key, const Facts& here) {
  return Try([&](Attempt) -> Result<std::optional<Measurement>> {
    ASSAY_ASSIGN_OR_RETURN(const Known known, reader_.FindKnown(key, here));
    return reader_.Read(known.newest);
  });
}

Result<bool> SqlStore::IsMeasured(const MemoKey& key, int64_t wanted, const Facts& here) {
  return Try([&](Attempt) -> Result<bool> {
    ASSAY_ASSIGN_OR_RETURN(const Known known, reader_.FindKnown(key, here));
    return known.IsMeasured(wanted);
  });
}

Result<std::optional<Measurement>> SqlStore::FindLatest(const MemoKey& key) {
  return Try([&](Attempt) -> Result<std::optional<Measurement>> {
    ASSAY_ASSIGN_OR_RETURN(const int64_t newest, reader_.Newest(key));
    return reader_.Read(newest);
  });
}

Result<int64_t> SqlStore::Count(const MeasurementFilter& filter) {
  return Try([&](Attempt) { return reader_.Count(filter); });
}

Result<std::vector<MeasurementRow>> SqlStore::ListRows(const MeasurementFilter& filter,
                                                       const std::vector<std::string>& columns) {
  return Try([&](Attempt) { return reader_.Rows(filter, columns); });
}

Result<std::vector<Measurement>> SqlStore::List(const MeasurementFilter& filter, bool with_series) {
  std::vector<Measurement> list;
  ASSAY_RETURN_IF_ERROR(ForEach(filter, with_series, [&](Measurement&& measurement) {
    list.push_back(std::move(measurement));
    return Status::Ok();
  }));
  return list;
}

Status SqlStore::ForEach(const MeasurementFilter& filter, bool with_series,
                         const std::function<Status(Measurement&&)>& visit) {
  MeasurementFilter page = filter;
  int64_t page_end = 0;
  int64_t left = filter.limit >= 0 ? filter.limit : std::numeric_limits<int64_t>::max();
  while (left > 0) {
    page.limit = std::min(left, kPage);
    ASSAY_ASSIGN_OR_RETURN(std::vector<Measurement> measurements,
                           Try([&](Attempt) { return reader_.Measurements(page, with_series, page_end); }));
    for (Measurement& measurement : measurements) {
      page_end = measurement.arrival;
      ASSAY_RETURN_IF_ERROR(visit(std::move(measurement)));
    }
    if (std::ssize(measurements) < page.limit) {
      break;
    }
    left -= std::ssize(measurements);
    page.offset = 0;
  }
  return Status::Ok();
}

}  // namespace assay::samplestore
