#include "http/authorities.h"

#include <curl/curl.h>

namespace assay::http {

Authorities AuthoritiesOf(const ClientOptions& options) {
  Authorities authorities{options.ca_file, {}};
  if (!options.ca_file.empty()) {
    return authorities;
  }
  const curl_version_info_data* libcurl = curl_version_info(CURLVERSION_NOW);
  authorities.file = libcurl->cainfo != nullptr ? libcurl->cainfo : "";
  authorities.folder = libcurl->capath != nullptr ? libcurl->capath : "";
  return authorities;
}

}  // namespace assay::http
