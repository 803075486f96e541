#include "http/wire/address_book.h"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "base/text.h"

namespace assay::http {
namespace {

/// A name that is not known is asked for again after so long.
constexpr double kFailureSeconds = 1;

/// Names below localhost are this machine (RFC 6761, section 6.3), which not every resolver knows.
const std::string& NameToAskFor(const std::string& host) {
  static const std::string kHere = "localhost";
  return host.ends_with("." + kHere) ? kHere : host;
}

std::vector<Address> GetAddresses(const std::string& host, int port, int flags, std::string& error) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  if (const int code = ::getaddrinfo(NameToAskFor(host).c_str(), std::to_string(port).c_str(), &hints, &list);
      code != 0) {
    error = code == EAI_SYSTEM ? std::strerror(errno) : ::gai_strerror(code);
    return {};
  }
  std::vector<Address> addresses;
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next) {
    Address address;
    std::memcpy(&address.socket, each->ai_addr, each->ai_addrlen);
    address.size = each->ai_addrlen;
    addresses.push_back(address);
  }
  ::freeaddrinfo(list);
  return addresses;
}

/// False: the system has no room for one, as `error` says.
bool StartThread(std::function<void()> work, std::string& error) {
  try {
    std::thread(std::move(work)).detach();
    return true;
  } catch (const std::system_error& none) {
    error = std::string("no thread can be started to ask: ") + none.what();
    return false;
  }
}

}  // namespace

bool Address::operator==(const Address& other) const {
  return size == other.size && std::memcmp(&socket, &other.socket, size) == 0;
}

AddressBook::AddressBook()
    : AddressBook([](const std::string& host, int port, std::string& error) {
        return GetAddresses(host, port, AI_ADDRCONFIG, error);
      }) {}

AddressBook::AddressBook(Resolver resolver, Clock clock) : pages_(std::make_shared<Pages>()), clock_(std::move(clock)) {
  pages_->resolver = std::move(resolver);
}

void AddressBook::LookUp(const std::shared_ptr<Pages>& pages, const Key& key) {
  std::string error;
  const std::vector<Address> found = pages->resolver(key.first, key.second, error);
  std::vector<Wake> waiting;
  {
    const std::lock_guard lock(pages->mutex);
    Entry& entry = pages->entries[key];
    entry.asked = false;
    entry.error = error.empty() ? "it has no address" : error;
    entry.believed_until = MonotonicSeconds() + (found.empty() ? kFailureSeconds : kBelievedSeconds);
    std::vector<Place> places;
    for (const Address& address : found) {
      const auto old = std::ranges::find(entry.places, address, &Place::address);
      places.push_back(old == entry.places.end() ? Place{address} : *old);
    }
    if (!places.empty()) {
      entry.places = std::move(places);
    }
    waiting.swap(entry.waiting);
  }
  for (const Wake& wake : waiting) {
    wake();
  }
}

AddressBook::State AddressBook::Ask(const std::string& host, int port, const Wake& wake, std::string& error) {
  const std::lock_guard lock(pages_->mutex);
  const Key key(host, port);
  Entry& entry = pages_->entries[key];
  if (entry.believed_until == 0 && !entry.asked) {
    std::string none;
    for (const Address& address : GetAddresses(host, port, AI_NUMERICHOST, none)) {
      entry.places.push_back({address});
      entry.believed_until = std::numeric_limits<double>::infinity();
    }
  }
  const bool believed = entry.believed_until > MonotonicSeconds();
  if (!believed && !entry.asked) {
    entry.asked = StartThread([pages = pages_, key] { LookUp(pages, key); }, error);
  }
  if (!entry.places.empty()) {
    return State::kKnown;  // what is old serves until the new is there
  }
  if (!believed && !entry.asked) {
    return State::kFailed;
  }
  if (believed) {
    error = entry.error;
    return State::kFailed;
  }
  entry.waiting.push_back(wake);
  return State::kPending;
}

std::optional<Address> AddressBook::Take(const std::string& host, int port, const std::vector<Address>& tried) {
  const std::lock_guard lock(pages_->mutex);
  const double now = clock_();
  Place* best = nullptr;
  const auto rank = [now](const Place& place) {
    return std::tuple(std::max(place.passed_over_until - now, 0.0), place.connections);
  };
  for (Place& place : pages_->entries[{host, port}].places) {
    if (std::ranges::find(tried, place.address) == tried.end() && (best == nullptr || rank(place) < rank(*best))) {
      best = &place;
    }
  }
  if (best == nullptr) {
    return std::nullopt;
  }
  if (best->passed_over_until != 0 && best->passed_over_until <= now) {
    best->passed_over_until = now + kPassedOverSeconds;  // this connection tries it
  }
  ++best->connections;
  return best->address;
}

size_t AddressBook::Count(const std::string& host, int port) {
  const std::lock_guard lock(pages_->mutex);
  return pages_->entries[{host, port}].places.size();
}

AddressBook::Place* AddressBook::Find(const std::string& host, int port, const Address& address) {
  std::vector<Place>& places = pages_->entries[{host, port}].places;
  const auto found = std::ranges::find(places, address, &Place::address);
  return found == places.end() ? nullptr : &*found;
}

void AddressBook::Release(const std::string& host, int port, const Address& address) {
  const std::lock_guard lock(pages_->mutex);
  if (Place* place = Find(host, port, address)) {
    --place->connections;
  }
}

void AddressBook::PassOver(const std::string& host, int port, const Address& address) {
  const std::lock_guard lock(pages_->mutex);
  if (Place* place = Find(host, port, address)) {
    place->passed_over_until = clock_() + kPassedOverSeconds;
  }
}

void AddressBook::Unanswered(const std::string& host, int port, const Address& address, double since) {
  const std::lock_guard lock(pages_->mutex);
  Place* place = Find(host, port, address);
  if (place == nullptr) {
    return;
  }
  const double now = clock_();
  if (since - place->waited_until > kPassedOverSeconds) {
    place->waited_seconds = 0;
  }
  place->waited_seconds = std::max(place->waited_seconds + now - std::max(since, place->waited_until), now - since);
  place->waited_until = now;
  if (place->waited_seconds >= kSilentSeconds) {
    place->passed_over_until = now + kPassedOverSeconds;
    place->waited_seconds = 0;
  }
}

void AddressBook::Proved(const std::string& host, int port, const Address& address) {
  const std::lock_guard lock(pages_->mutex);
  if (Place* place = Find(host, port, address)) {
    place->passed_over_until = 0;
    place->waited_seconds = 0;
  }
}

}  // namespace assay::http
