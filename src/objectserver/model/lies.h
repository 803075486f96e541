// Lies: what a store answers that is not so. A profile tells them as faults of their names, by rate and operation.
//
// A client that is told one must end with what is right or with an error, except where no client can know:
//  - not-done: a write that is said to be done, with the right checksum, and was not, until it is read back;
//  - false-404: an object that is there and is said not to be, where absence is an answer and not an error;
//  - list-drop-key, list-change-key, list-other-token, list-end, garble, change-field: a listing that keeps to its
//    prefix, rises and says that it is whole, but lacks keys or has others or other sizes, until they are read;
//  - change-etag of an answer to a write or to a request for the head, until the etag is used;
//  - earlier-answer to a write, of the same bytes under another key: it is said to be done, with the right checksum;
//  - earlier-answer to a read: all of another object or version, with its own checksum, where the reader has no etag;
//  - drop-checksum of every answer about an object: then nothing that the store says of its bytes can be checked, and
//    a byte that is changed besides passes. A reader who got no checksum with the bytes asks for the head.
#pragma once

#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/server.h"
#include "objectserver/model/draws.h"

namespace assay::objectserver {

/// A request as lies see it.
struct LieTarget {
  std::string_view operation;
  std::string_view asked;  ///< what the request names, whatever tells it from others of its operation
  bool write = false;
  std::string_view page_token = {};  ///< where a listing is to go on
};

struct Lie;

/// The lie of that name; null where there is none.
const Lie* FindLie(std::string_view name);
std::vector<std::string> LieNames();
std::string_view NameOf(const Lie& lie);
/// Whether answers to that operation can hold what it changes.
bool MakesSense(const Lie& lie, std::string_view operation, bool write);
/// Whether it is about the deed, which the exchange knows, and not about the answer's form.
bool SkipsTheDeed(const Lie& lie);
bool DeniesTheDeed(const Lie& lie);

/// Tells lies, and remembers answers for those that give an earlier one. Thread-safe. What is told depends on the draws
/// alone, but for earlier answers, which depend on what came before.
class Liar {
 public:
  /// Changes the true `answer`. False: it holds nothing that the lie could change.
  bool Tell(const Lie& lie, const LieTarget& target, Draws draws, http::ServerResponse& answer);
  void Remember(const LieTarget& target, const http::ServerResponse& answer);
  /// The last answer to another request of that operation; nothing where there was none.
  std::optional<http::ServerResponse> Earlier(const LieTarget& target) const;

 private:
  struct Kept {
    std::string operation;
    std::string asked;
    http::ServerResponse answer;
  };
  static constexpr size_t kMostKept = 256;
  static constexpr int64_t kMostKeptBytes = 128 << 10;  ///< of one

  mutable std::mutex mutex_;
  std::deque<Kept> kept_;  ///< the latest first
};

}  // namespace assay::objectserver
