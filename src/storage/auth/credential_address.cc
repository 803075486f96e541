#include "storage/auth/credential_address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

namespace assay::storage {
namespace {

constexpr std::string_view kMetadataNames[] = {"metadata.google.internal", "[fd00:ec2::254]", "[fd00:ec2::23]",
                                               "[fd20:ce::254]"};

/// Only of the usual form, four decimal numbers: "127.1" and "127.example.com" are none.
std::optional<uint32_t> Ipv4Of(const std::string& host) {
  in_addr address = {};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1 ? std::optional(ntohl(address.s_addr)) : std::nullopt;
}

bool IsIpv6LinkLocal(const std::string& host) {
  if (!host.starts_with('[') || !host.ends_with(']')) {
    return false;
  }
  in6_addr address = {};
  return ::inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1 &&
         IN6_IS_ADDR_LINKLOCAL(&address);
}

}  // namespace

Reach ReachOf(const http::Url& url) {
  const std::optional<uint32_t> ipv4 = Ipv4Of(url.host);
  if (url.host == "localhost" || url.host == "[::1]" || (ipv4 && *ipv4 >> 24 == 127)) {
    return Reach::kLoopback;
  }
  const bool named = std::ranges::find(kMetadataNames, url.host) != std::end(kMetadataNames);
  return named || (ipv4 && *ipv4 >> 16 == 0xa9fe) || IsIpv6LinkLocal(url.host) ? Reach::kMetadata : Reach::kElsewhere;
}

Status CheckCredentialAddress(const http::Url& url) {
  if (url.scheme == "https" || ReachOf(url) != Reach::kElsewhere) {
    return Status::Ok();
  }
  return Status::InvalidArgument(
      "credentials are asked for by https only, or by http on this machine and its metadata services (give an https "
      "address)");
}

}  // namespace assay::storage
