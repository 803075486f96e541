// Who may ask a server of pages for what: decided before anybody answers.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "http/server_parser.h"
#include "http/server_response.h"

namespace assay::serve {

struct AccessOptions {
  /// Names and addresses by which the server may be asked for, in lower case, IPv6 in brackets, with a port where it is
  /// another than the server's own ("localhost:8000" of a tunnel): what else a browser was told to be this machine (DNS
  /// rebinding) is refused.
  std::vector<std::string> hosts;
  /// Opens the server as often as one likes. Empty: a link opens it once, and then there is another.
  std::string token = {};
  /// A link was used up, and this path is the next one. From a loop's thread.
  std::function<void(const std::string& path)> on_next_link = {};
};

/// Lets in whoever has the cookie that a start link gives, or bears the token. What was measured also takes the key
/// that the link gives to the page's origin (`?key=`): browsers send a cookie to the servers of all ports of a machine,
/// another user's among them. Both are those of one process: what a page sent to whoever listens at the port after it
/// opens nothing. Nothing but GET and HEAD; nothing that another site's page asks for, a navigation to the
/// page apart. Thread-safe.
class Access {
 public:
  explicit Access(AccessOptions options);

  /// Once it is known, and before that nobody is let in: it stands in Host headers and in the cookie's name, since
  /// cookies do not tell ports apart.
  void SetPort(int port) { port_ = port; }
  /// "/start/0123...": where a session begins.
  std::string StartPath() const;

  /// Nothing: the request may be answered. Else its answer.
  std::optional<http::ServerResponse> Check(const http::RequestHead& head);

 private:
  bool KnowsHost(std::string_view host) const;
  bool IsLetIn(const http::RequestHead& head) const;
  bool HasCookie(const http::RequestHead& head) const;
  bool HasKey(const http::RequestHead& head) const;
  std::string PageAddress() const;
  std::string CookieName() const;
  http::ServerResponse Begin(const http::RequestHead& head, std::string_view token);

  const AccessOptions options_;
  const std::string session_;  ///< the cookie's value
  const std::string key_;
  std::atomic<int> port_ = 0;
  mutable std::mutex mutex_;
  std::string link_token_;  ///< guarded by mutex_
};

}  // namespace assay::serve
