// Names, their addresses, and which of those serve.
#pragma once

#include <sys/socket.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace assay::http {

struct Address {
  sockaddr_storage socket = {};
  socklen_t size = 0;

  int family() const { return socket.ss_family; }
  bool operator==(const Address& other) const;
};

/// Of all connections of a client: they are spread evenly over the addresses of a name. One that could not be connected
/// to, or did not answer, is passed over for a while, as long as there are others; then one connection tries it, and no
/// other one until that has an answer or the while has gone by again. Any thread may call.
class AddressBook {
 public:
  enum class State { kKnown, kPending, kFailed };
  /// From any thread; may come after whoever asked has gone.
  using Wake = std::function<void()>;

  /// How long addresses are believed, and how long one that failed is passed over.
  static constexpr double kBelievedSeconds = 60;
  static constexpr double kPassedOverSeconds = 30;
  static constexpr double kSilentSeconds = 1;

  AddressBook();

  /// Whether the addresses of `host` (a name, or an address of either family without brackets) are known. kPending:
  /// they are being asked for, and `wake` is called when that has ended. `error` is set with kFailed.
  State Ask(const std::string& host, int port, const Wake& wake, std::string& error);
  /// The best address that is none of `tried`, and counts a connection to it; nothing: there is no other.
  std::optional<Address> Take(const std::string& host, int port, const std::vector<Address>& tried);
  /// How many addresses there are.
  size_t Count(const std::string& host, int port);
  /// A connection has gone.
  void Release(const std::string& host, int port, const Address& address);
  /// None could be made, or nothing came over the one that was.
  void PassOver(const std::string& host, int port, const Address& address);
  /// A request there was given up, to which nothing had come, nor had anything of it gone out, since `since` (as the
  /// clock tells). What is slow once is not silent: the address is passed over where such requests waited for
  /// kSilentSeconds in all, those of the same time counted once, and no answer has begun to come meanwhile.
  void Unanswered(const std::string& host, int port, const Address& address, double since);
  /// An answer has begun to come.
  void Proved(const std::string& host, int port, const Address& address);

  /// For tests: in place of getaddrinfo() and of MonotonicSeconds(), of those that are passed over.
  using Resolver = std::function<std::vector<Address>(const std::string& host, int port, std::string& error)>;
  using Clock = std::function<double()>;
  explicit AddressBook(Resolver resolver, Clock clock = MonotonicSeconds);

 private:
  struct Place {
    Address address;
    int connections = 0;
    double passed_over_until = 0;  ///< 0: it serves, for all that is known
    double waited_seconds = 0;     ///< by requests without an answer, since the last that had one
    double waited_until = 0;       ///< by the last of them; 0: by none
  };
  struct Entry {
    bool asked = false;         ///< a thread does
    double believed_until = 0;  ///< addresses, or that there are none
    std::string error;
    std::vector<Place> places;
    std::vector<Wake> waiting;
  };
  using Key = std::pair<std::string, int>;
  /// Outlives the book while a name is looked up, which nothing can end.
  struct Pages {
    std::mutex mutex;
    std::map<Key, Entry> entries;  // guarded by mutex
    Resolver resolver;
  };

  static void LookUp(const std::shared_ptr<Pages>& pages, const Key& key);
  Place* Find(const std::string& host, int port, const Address& address);

  const std::shared_ptr<Pages> pages_;
  const Clock clock_;
};

}  // namespace assay::http
