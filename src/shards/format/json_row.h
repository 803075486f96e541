// Objects in JSON as rows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "shards/format/index.h"

namespace assay::shards {

/// Reads one object after another, without a tree in between. Belongs to one thread.
class JsonRowReader {
 public:
  JsonRowReader();
  JsonRowReader(JsonRowReader&&) noexcept;
  ~JsonRowReader();

  /// Bytes that must be readable behind what Read() is given in place, whatever they hold.
  static constexpr size_t kPaddingBytes = 64;

  /// The fields that `columns`, sorted by name, name; of several of one name the last. Views live until the next call,
  /// and as long as the memory of `json`. Others are read over. InvalidArgument for what is no JSON object, and for a
  /// column that it does not have.
  Status Read(std::string_view json, std::span<const Column> columns, Row& row);
  /// Likewise, where kPaddingBytes behind `json` may be read: without a copy of it.
  Status ReadInPlace(std::string_view json, std::span<const Column> columns, Row& row);
  /// A field of the object that was read last which is no column; empty: there is none.
  std::string_view unknown() const;

  /// The names of all fields with their values, in their order: for who does not know them yet.
  Status ReadAll(std::string_view json, std::vector<std::string>& names, Row& row);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace assay::shards
