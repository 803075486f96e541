#include "checkpoint/torch/legacy_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "checkpoint/pickle/value_builder.h"

namespace assay::checkpoint {
namespace {

/// The pickle of torch.serialization.MAGIC_NUMBER, 0x1950a86a20f9469cfc6c, without its protocol.
constexpr std::string_view kMagic = "\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
constexpr int64_t kFormatVersion = 1001;
constexpr int64_t kFirstBytes = int64_t{1} << 20;
constexpr int64_t kMostLegacyPickleBytes = int64_t{2} << 30;

Status Malformed(const DataSource& source, const std::string& what) {
  return Status::InvalidArgument(
      fmt::format("{}: {}; the file is damaged or not of torch.save, fetch or write it again", source.uri(), what));
}

/// Storages whose place is known only when the whole pickle was read.
class LegacyStorages {
 public:
  explicit LegacyStorages(std::shared_ptr<const DataSource> source) : source_(std::move(source)) {}

  Result<std::shared_ptr<const Storage>> Open(const StorageName& name) {
    auto [known, is_new] = by_key_.try_emplace(name.key);
    Named& named = known->second;
    if (is_new) {
      int64_t bytes = 0;
      if (__builtin_mul_overflow(name.elements, ElementBytes(name.dtype), &bytes) || bytes > source_->bytes()) {
        return Malformed(*source_, fmt::format("its storage '{}' claims {} elements", name.key, name.elements));
      }
      named = {std::make_shared<Storage>(Storage{source_, 0, bytes}), name.elements};
    }
    return std::shared_ptr<const Storage>(named.storage);
  }

  /// Storages stand one behind the other in the order of `keys`, each behind the number of its elements.
  Status Place(const std::vector<Value>& keys, int64_t at) {
    std::set<std::string_view> placed;
    for (const Value& key : keys) {
      const auto* text = key.get<std::string>();
      const auto found = text == nullptr ? by_key_.end() : by_key_.find(*text);
      if (found == by_key_.end()) {
        return Malformed(*source_, "it has a storage that no tensor names");
      }
      if (!placed.insert(*text).second) {
        return Malformed(*source_, fmt::format("its storage '{}' is listed twice", *text));
      }
      ASSAY_ASSIGN_OR_RETURN(const std::string count, ReadText(*source_, at, sizeof(int64_t)));
      int64_t elements = 0;
      std::copy_n(count.data(), sizeof(elements), reinterpret_cast<char*>(&elements));
      const Named& named = found->second;
      if (elements != named.elements) {
        return Malformed(*source_, fmt::format("its storage '{}' has {} elements where {} are named", *text, elements,
                                               named.elements));
      }
      named.storage->offset = at + static_cast<int64_t>(sizeof(int64_t));
      at = named.storage->offset + named.storage->bytes;
      if (at > source_->bytes()) {
        return Malformed(*source_, fmt::format("its storage '{}' ends at byte {} of {}: it is truncated", *text, at,
                                               source_->bytes()));
      }
    }
    return keys.size() == by_key_.size() ? Status::Ok()
                                         : Malformed(*source_, "it lacks storages that its tensors name");
  }

 private:
  struct Named {
    std::shared_ptr<Storage> storage;
    int64_t elements = 0;
  };
  std::shared_ptr<const DataSource> source_;
  std::map<std::string, Named> by_key_;
};

/// The five pickles at the begin.
struct Parts {
  std::string bytes;
  Value version;
  Value system;
  Pickle object;
  Value keys;
  int64_t end = 0;
};

/// `ends_early` as of ReadPickle().
Status ReadParts(const std::string& uri, Parts& parts, bool& ends_early) {
  std::string_view rest = parts.bytes;
  const auto next = [&]() -> Result<Pickle> {
    ASSAY_ASSIGN_OR_RETURN(Pickle pickle, ReadPickle(rest, StateGlobals(), uri, {}, &ends_early));
    rest.remove_prefix(pickle.end);
    return pickle;
  };
  const auto next_value = [&]() -> Result<Value> {
    ASSAY_ASSIGN_OR_RETURN(const Pickle pickle, next());
    return ToPlainValue(pickle, uri);
  };
  ASSAY_RETURN_IF_ERROR(next().status());  // the magic number
  ASSAY_ASSIGN_OR_RETURN(parts.version, next_value());
  ASSAY_ASSIGN_OR_RETURN(parts.system, next_value());
  ASSAY_ASSIGN_OR_RETURN(parts.object, next());
  ASSAY_ASSIGN_OR_RETURN(parts.keys, next_value());
  parts.end = static_cast<int64_t>(parts.bytes.size() - rest.size());
  return Status::Ok();
}

/// How long the pickles are shows only when they are read: more is taken until they are whole.
Status ReadGrowing(const DataSource& source, Parts& parts) {
  for (int64_t bytes = std::min(kFirstBytes, source.bytes());; bytes = std::min(bytes * 8, source.bytes())) {
    ASSAY_ASSIGN_OR_RETURN(parts.bytes, ReadText(source, 0, bytes));
    bool ends_early = false;
    const Status read = ReadParts(source.uri(), parts, ends_early);
    if (!ends_early || bytes == source.bytes() || bytes > kMostLegacyPickleBytes) {
      return read;
    }
  }
}

}  // namespace

bool IsLegacyTorchFile(std::string_view head) {
  return head.size() > 2 && head[0] == '\x80' && head.substr(2).starts_with(kMagic);
}

Result<Value> ReadLegacyTorchFile(std::shared_ptr<const DataSource> source) {
  Parts parts;
  ASSAY_RETURN_IF_ERROR(ReadGrowing(*source, parts));
  const auto* version = parts.version.get<int64_t>();
  const Value* little = parts.system.Find("little_endian");
  if (version == nullptr || *version != kFormatVersion) {
    return Malformed(*source, "its format has a version that is not known");
  }
  if (little != nullptr && little->get<bool>() != nullptr && !*little->get<bool>()) {
    return Status::Unsupported(source->uri() + ": it was written on a big-endian machine, which is not read");
  }
  if (parts.keys.sequence() == nullptr) {
    return Malformed(*source, "it has no list of its storages");
  }
  LegacyStorages storages(source);
  ASSAY_ASSIGN_OR_RETURN(
      Value value, ToValue(parts.object, [&](const StorageName& name) { return storages.Open(name); }, source->uri()));
  ASSAY_RETURN_IF_ERROR(storages.Place(parts.keys.sequence()->items, parts.end));
  return value;
}

}  // namespace assay::checkpoint
