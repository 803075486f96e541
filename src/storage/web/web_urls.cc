#include "storage/web/web_urls.h"

#include <fmt/format.h>

#include "base/terminal.h"
#include "base/text.h"
#include "base/utf8.h"
#include "http/message.h"

namespace assay::storage {
namespace {

/// Stands in paths and queries as it is (RFC 3986 sections 3.3 and 3.4), with the '%' of what is encoded already.
constexpr std::string_view kPlain = "%!$&'()*+,;=:@/?";

/// With the brackets of an IPv6 host.
constexpr std::string_view kAuthority = "%!$&'()*+,;=:@/?[]";

/// "https://host:port" of a URL.
std::string_view OriginOf(std::string_view url) {
  return url.substr(0, url.find('/', url.find("://") + 3));
}

std::string_view WithoutQuery(std::string_view url) {
  return url.substr(0, url.find_first_of("?#"));
}

}  // namespace

Result<std::string> WebFolderUrl(std::string_view url) {
  const size_t authority = url.find("://");
  if (authority != std::string_view::npos && url.substr(0, url.find('/', authority + 3)).find('@') != url.npos) {
    // Not shown: it may hold a password.
    return Status::InvalidArgument(
        "a URL with a user name or a password before its host is not read (leave it out: it would be seen in "
        "messages)");
  }
  std::string folder(url);
  folder += folder.ends_with('/') ? "" : "/";
  const std::optional<http::Url> parts = http::ParseUrl(http::PercentEncode(folder, kAuthority));
  if (!parts || folder.find_first_of("?#") != std::string::npos || !IsUtf8(folder) || !http::IsHeaderValue(folder)) {
    return Status::InvalidArgument(
        fmt::format("'{}' is no URL of a folder (write https://host/folder/)", Escaped(WithoutQuery(url))));
  }
  return parts->scheme + "://" + parts->authority() + parts->path;
}

Status CheckWebKey(std::string_view key, std::string_view uri) {
  const auto refuse = [&](std::string_view why) {
    return Status::InvalidArgument(fmt::format("cannot read {}: {}", Escaped(uri), why));
  };
  if (key.empty()) {
    return refuse("it names a folder, and web servers tell of files alone (name one)");
  }
  if (key.size() > kMaxWebKeyBytes) {
    return refuse(fmt::format("its URL has {} bytes, and servers take {} (shorten it)", key.size(), kMaxWebKeyBytes));
  }
  if (key.find('#') != std::string_view::npos) {
    return refuse("its URL has a fragment, which no server sees (leave '#' and what follows out, or write it as %23)");
  }
  if (!IsUtf8(key) || !http::IsHeaderValue(key)) {
    return refuse("its URL holds a control character or no UTF-8 (encode it with %)");
  }
  if (!http::PercentDecode(key)) {
    return refuse("its URL has a '%' that begins no encoded byte (write it as %25)");
  }
  for (const std::string& part : Split(std::string(WithoutQuery(key)), '/')) {
    if (part == "." || part == "..") {
      return refuse("its path goes through '..' or '.' (write where that leads)");
    }
  }
  return Status::Ok();
}

std::string WebFileUrl(std::string_view folder, std::string_view key) {
  return std::string(folder) + http::PercentEncode(key, kPlain);
}

std::string WebUri(std::string_view folder, std::string_view key) {
  const std::string_view path = WithoutQuery(key);
  return fmt::format("{}{}{}", folder, path, path.size() < key.size() ? "?..." : "");
}

std::string WebFileName(std::string_view key) {
  const std::string_view path = WithoutQuery(key);
  const std::string name(path.substr(path.rfind('/') + 1));
  const std::string decoded = http::PercentDecode(name).value_or("");
  const bool is_name = !decoded.empty() && decoded != "." && decoded != ".." &&
                       decoded.find_first_of(std::string("/\0", 2)) == std::string::npos;
  return is_name ? decoded : name;
}

std::optional<std::string> RedirectTarget(std::string_view url, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  const std::string_view path = WithoutQuery(url);
  std::string target;
  if (reference.find("://") != std::string_view::npos && reference.find("://") < reference.find_first_of("/?")) {
    target = reference;
  } else if (reference.starts_with("//")) {
    target = fmt::format("{}{}", url.substr(0, url.find("//")), reference);
  } else if (reference.starts_with('/')) {
    target = fmt::format("{}{}", OriginOf(url), reference);
  } else if (reference.starts_with('?')) {
    target = fmt::format("{}{}", path, reference);
  } else {
    target = fmt::format("{}{}", path.substr(0, path.rfind('/') + 1), reference);
  }
  target = http::PercentEncode(target, kAuthority);
  const std::optional<http::Url> parts = http::ParseUrl(target);
  const bool weaker = parts && parts->scheme == "http" && url.starts_with("https:");
  return parts && !weaker ? std::optional(std::move(target)) : std::nullopt;
}

}  // namespace assay::storage
