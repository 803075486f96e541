#include "http/proxy.h"

#include <algorithm>
#include <cstdlib>
#include <initializer_list>

namespace assay::http {
namespace {

bool IsSet(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

}  // namespace

bool MayBeProxied(const ClientOptions& options, std::string_view scheme) {
  if (!options.use_proxy || !options.proxy.empty()) {
    return options.use_proxy;
  }
  // HTTP_PROXY is none: a CGI program gets it from whoever sends a header "Proxy".
  using Names = std::initializer_list<const char*>;
  return std::ranges::any_of(Names{"all_proxy", "ALL_PROXY"}, IsSet) ||
         (scheme == "https" ? IsSet("https_proxy") || IsSet("HTTPS_PROXY") : IsSet("http_proxy"));
}

}  // namespace assay::http
