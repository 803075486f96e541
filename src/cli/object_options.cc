#include "cli/object_options.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <utility>

#include "base/files.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "cli/options.h"
#include "storage/read_options.h"
#include "storage/stores.h"

namespace assay::cli {
namespace {

using storage::StoreOptions;

constexpr char kStoreGroup[] = "Store";
constexpr char kTransferGroup[] = "Transfer";

bool SameBucket(const storage::StoreUri& a, const storage::StoreUri& b) {
  return a.scheme == b.scheme && a.bucket == b.bucket;
}

}  // namespace

template <typename T>
void StoreFlags::Add(CLI::App& app, const char* name, const char* help, T StoreOptions::* field, const char* type) {
  app.add_option_function<T>(
         name,
         [this, field](const T& value) {
           given_.push_back([field, value](StoreOptions& options) { options.*field = value; });
         },
         help)
      ->type_name(type)
      ->group(kStoreGroup);
}

void StoreFlags::AddBytes(CLI::App& app, const char* name, const char* help, int64_t StoreOptions::* field) {
  app.add_option_function<std::string>(
         name,
         [this, field](const std::string& text) {
           given_.push_back([field, bytes = *ParseBytes(text)](StoreOptions& options) { options.*field = bytes; });
         },
         help)
      ->check(ByteSize())
      ->type_name("BYTES")
      ->group(kTransferGroup);
}

void StoreFlags::AddSwitch(CLI::App& app, const char* name, const char* help, bool StoreOptions::* field, bool value) {
  app.add_flag_callback(
         name,
         [this, field, value] { given_.push_back([field, value](StoreOptions& options) { options.*field = value; }); },
         help)
      ->group(kStoreGroup);
}

void StoreFlags::AddOwn(CLI::App& app, const storage::OwnOption& option) {
  for (const storage::OptionFlag& flag : option.flags) {
    const auto give = [this, key = std::string(option.key)](const std::string& value) {
      given_.push_back([key, value](StoreOptions& options) { options.own[key] = value; });
    };
    if (!flag.value.empty()) {
      app.add_flag_callback(
             std::string(flag.names), [give, value = std::string(flag.value)] { give(value); }, std::string(flag.help))
          ->group(kStoreGroup);
      continue;
    }
    CLI::Option* added = app.add_option_function<std::string>(std::string(flag.names), give, std::string(flag.help))
                             ->type_name(option.words.empty() ? "TEXT" : "WORD")
                             ->group(kStoreGroup);
    if (!option.words.empty()) {
      added->check(CLI::IsMember(std::vector<std::string>(option.words.begin(), option.words.end())));
    }
  }
}

void StoreFlags::AddTo(CLI::App& app) {
  app.add_option("--config", config_, "YAML file of store options (docs/storage.md)")
      ->type_name("FILE")
      ->group(kStoreGroup);
  Add(app, "--endpoint,--endpoint-url", "URL of the service [the provider's]", &StoreOptions::endpoint, "URL");
  Add(app, "--region", "Region of the bucket", &StoreOptions::region, "NAME");
  Add(app, "--profile", "Profile of the store's own configuration files", &StoreOptions::profile, "NAME");
  AddSwitch(app, "--anonymous,--no-sign-request", "Send no credentials", &StoreOptions::anonymous, true);
  AddSwitch(app, "--requester-pays", "Accept to be billed for requests", &StoreOptions::requester_pays, true);
  Add(app, "--storage-class", "Of new objects", &StoreOptions::storage_class, "NAME");
  Add(app, "--sse-kms-key-id", "Key of the provider's key service", &StoreOptions::encryption_key_id, "ID");
  for (const storage::StoreKind* kind : storage::StoreKinds()) {
    for (const storage::OwnOption& option : kind->options) {
      AddOwn(app, option);
    }
  }
  AddSwitch(app, "--no-verify-ssl", "Do not check the store's certificate (those of credential services always are)",
            &StoreOptions::verify_tls, false);
  Add(app, "--ca-bundle", "PEM file of certificate authorities", &StoreOptions::ca_file, "FILE");
  Add(app, "--proxy", "URL of a proxy", &StoreOptions::proxy, "URL");
  AddBytes(app, "--part-size", "Bytes of a part [8MiB, more for large objects]", &StoreOptions::part_bytes);
  Add(app, "--connections", "Requests at a time [32]", &StoreOptions::connections, "N");
  Add(app, "--io-threads", "Threads that move bytes [2]", &StoreOptions::io_threads, "N");
  AddBytes(app, "--memory-budget", "For parts and buffers [256MiB]", &StoreOptions::memory_budget_bytes);
  AddBytes(app, "--bandwidth", "Bytes a second at most", &StoreOptions::bandwidth_bytes_per_s);
  Add(app, "--connect-timeout", "Seconds [10]", &StoreOptions::connect_timeout_seconds, "S");
  Add(app, "--stall-timeout", "Seconds without a byte moved, or with less than 1 KiB/s of an answer [20]",
      &StoreOptions::stall_timeout_seconds, "S");
  Add(app, "--deadline", "Seconds of an operation with its retries", &StoreOptions::deadline_seconds, "S");
  Add(app, "--max-attempts", "Times one request is sent at most [8]", &StoreOptions::max_attempts, "N");
}

Result<StoreOptions> StoreFlags::Load(const std::string& scheme) const {
  ASSAY_ASSIGN_OR_RETURN(StoreOptions options, storage::LoadStoreOptions(scheme, config_));
  for (const auto& apply : given_) {
    apply(options);
  }
  return options;
}

Result<ObjectPlace> StoreFlags::Open(const std::string& uri) const {
  ASSAY_ASSIGN_OR_RETURN(const storage::StoreUri asked, storage::ParseStoreUri(uri));
  const bool folder =
      asked.scheme == "file" && !asked.key.empty() && IsDirectory(asked.bucket + '/' + asked.key) && !uri.empty();
  ObjectPlace place;
  place.uri = folder ? uri + '/' : uri;
  ASSAY_ASSIGN_OR_RETURN(place.parsed, storage::ParseStoreUri(place.uri));
  ASSAY_ASSIGN_OR_RETURN(StoreOptions options, Load(place.parsed.scheme));
  decorators_->Observe(place.parsed, options);
  ASSAY_ASSIGN_OR_RETURN(storage::StoreAndKey opened, storage::OpenStore(place.uri, options));
  ASSAY_ASSIGN_OR_RETURN(place.store, decorators_->Wrap(place.parsed, std::move(opened.store)));
  place.key = std::move(opened.key);
  return place;
}

Result<std::pair<ObjectPlace, ObjectPlace>> StoreFlags::OpenBoth(const std::string& from, const std::string& to) const {
  std::pair<ObjectPlace, ObjectPlace> places;
  ASSAY_ASSIGN_OR_RETURN(places.first, Open(from));
  ASSAY_ASSIGN_OR_RETURN(places.second, Open(to));
  if (SameBucket(places.first.parsed, places.second.parsed)) {
    places.second.store = places.first.store;
  }
  return places;
}

void WriteFlags::AddTo(CLI::App& app) {
  app.add_option("--content-type", content_type_, "Of new objects [the source's]")->type_name("TYPE");
  app.add_option("--metadata", metadata_, "NAME=VALUE kept with new objects; may be repeated")
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->type_name("NAME=VALUE");
  app.add_flag("--if-absent", if_absent_, "Only where nothing stands yet under the name");
  if_match_given_ = app.add_option("--if-match", if_match_, "Only over the object with this etag")->type_name("ETAG");
}

Result<storage::WriteOptions> WriteFlags::Make() const {
  storage::WriteOptions write;
  if (!content_type_.empty()) {
    write.content_type = content_type_;
  }
  for (const std::string& pair : metadata_) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Status::InvalidArgument("--metadata '" + pair + "' is not NAME=VALUE");
    }
    write.metadata[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  using Kind = storage::WriteCondition::Kind;
  const bool if_match = if_match_given_->count() > 0;
  if (if_absent_ && if_match) {
    return Status::InvalidArgument("--if-absent and --if-match contradict each other: choose one");
  }
  if (if_match && if_match_.empty()) {
    return Status::InvalidArgument("--if-match names no etag (ask for the object's with `assay object stat`)");
  }
  write.condition.kind = if_absent_ ? Kind::kAbsent : if_match ? Kind::kMatches : Kind::kNone;
  write.condition.etag = if_match_;
  return write;
}

Status CheckIsObject(const ObjectPlace& place) {
  if (place.key.empty() || (place.is_file() && place.key.ends_with('/'))) {
    return Status::InvalidArgument(
        fmt::format("'{}' names no object but a bucket or a folder: add the object's key", place.uri));
  }
  return Status::Ok();
}

std::string FileName(const ObjectPlace& place) {
  const storage::StoreKind* kind = storage::StoreKindOf(place.parsed.scheme);
  return kind->file_name != nullptr ? kind->file_name(place.key) : place.key.substr(place.key.rfind('/') + 1);
}

std::string AsFolder(std::string key) {
  if (!key.empty() && key.back() != '/') {
    key += '/';
  }
  return key;
}

InterruptFlag::InterruptFlag()
    : watcher_([this](std::stop_token stop) {
        constexpr auto kPoll = std::chrono::milliseconds(20);
        std::mutex mutex;
        std::condition_variable_any stopped;
        std::unique_lock lock(mutex);
        while (!stop.stop_requested() && !flag_) {
          flag_ = InterruptRequested();
          stopped.wait_for(lock, stop, kPoll, [] { return false; });
        }
      }) {}

}  // namespace assay::cli
