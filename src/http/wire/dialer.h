// Makes a connection: the name's addresses one after the other, and the greeting of TLS.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "http/channel.h"
#include "http/client.h"
#include "http/tls_channel.h"
#include "http/wire/address_book.h"

namespace assay::http {

/// Where connections go to: those to the same place may carry each other's transfers.
struct Origin {
  bool tls = false;
  std::string host;  ///< without the brackets of IPv6
  int port = 0;

  auto operator<=>(const Origin&) const = default;
};

/// What dialers need of their client.
struct Dialing {
  const ClientOptions& options;
  AddressBook& addresses;
  TlsContext& tls;
  AddressBook::Wake wake;  ///< lets the engine call Proceed() of those that wait for a name
};

/// Belongs to one I/O thread. In a first round no address gets long: one that is dead would hold up the others; in a
/// second one each gets an equal part of the time that is left.
class Dialer {
 public:
  enum class State { kResolving, kConnecting, kGreeting, kDone, kFailed };

  Dialer(const Dialing& dialing, const Origin& origin, double now);
  ~Dialer();
  Dialer(const Dialer&) = delete;
  Dialer& operator=(const Dialer&) = delete;

  /// Goes on as far as it can: after something has happened to the socket, to the name, or the time has come.
  void Proceed(double now);
  State state() const { return state_; }
  /// That must be watched now; -1: none.
  int socket() const;
  uint32_t wanted_events() const { return wanted_; }
  /// When Proceed() is due at the latest.
  double wake_at() const { return wake_at_; }
  TransportError error() const { return error_; }
  const std::string& detail() const { return detail_; }

  /// Nobody waits for it any more.
  void GiveUp();
  /// After kDone, once. The connection to the address is the caller's to release.
  std::pair<std::unique_ptr<Channel>, Address> TakeChannel();

 private:
  void Resolve(double now);
  void TryNext(double now);
  bool Open(double now);
  void Connect(double now);
  /// The address that is being tried, if any.
  void PassOver();
  void GiveUpAddress(std::string why);
  void Greet();
  void Fail(TransportError error, std::string detail);

  const Dialing& dialing_;
  const Origin& origin_;
  const double until_;
  State state_ = State::kResolving;
  bool first_round_ = true;
  std::vector<Address> tried_;      ///< in this round
  std::optional<Address> address_;  ///< to which a connection is counted
  double tried_since_ = 0;          ///< that address
  FileDescriptor socket_;           ///< that is not connected yet
  std::unique_ptr<Channel> channel_;
  uint32_t wanted_ = 0;
  double wake_at_ = 0;
  std::string last_why_;  ///< of the address that failed last
  bool timed_out_ = false;
  TransportError error_ = TransportError::kNone;
  std::string detail_;
};

}  // namespace assay::http
