// Which certificate authorities are trusted where nobody says.
#pragma once

#include <string>

#include "http/client.h"

namespace assay::http {

struct Authorities {
  std::string file;    ///< PEM; empty: none
  std::string folder;  ///< of files named by hash, as OpenSSL has them; empty: none
};

/// ClientOptions::ca_file alone, or what libcurl was built to trust; both empty where it does not say.
Authorities AuthoritiesOf(const ClientOptions& options);

}  // namespace assay::http
