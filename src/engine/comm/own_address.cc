#include "engine/comm/own_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>

#include <array>
#include <memory>

#include "base/file_descriptor.h"

namespace assay::engine {
namespace {

std::string numeric(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  const int failed = ::getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return failed != 0 ? "" : text.data();
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1";
}

/// What the kernel would send from. Nothing is sent.
std::string source_towards(const addrinfo& target) {
  const FileDescriptor socket(::socket(target.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own{};
  auto* generic = reinterpret_cast<sockaddr*>(&own);
  socklen_t length = sizeof(own);
  const bool known = ::connect(socket.get(), target.ai_addr, target.ai_addrlen) == 0 &&
                     ::getsockname(socket.get(), generic, &length) == 0;
  return known ? numeric(generic, length) : "";
}

std::string first_network() {
  ifaddrs* all = nullptr;
  if (::getifaddrs(&all) != 0) {
    return "";
  }
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(all, ::freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool up = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (up && each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET) {
      return numeric(each->ifa_addr, sizeof(sockaddr_in));
    }
  }
  return "";
}

}  // namespace

std::string own_address_towards(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  std::string own;
  if (::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) == 0) {
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, ::freeaddrinfo);
    for (const addrinfo* each = found; each != nullptr && own.empty(); each = each->ai_next) {
      own = source_towards(*each);
    }
  }
  return own.empty() || is_loopback(own) ? first_network() : own;
}

}  // namespace assay::engine
