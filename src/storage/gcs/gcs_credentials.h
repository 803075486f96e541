// Google credentials: where application-default credentials are, and OAuth2 access tokens for them.
#pragma once

#include <optional>
#include <string>

#include "storage/auth/credential_chain.h"
#include "storage/auth/environment.h"
#include "storage/auth/rsa_key.h"
#include "storage/options.h"

namespace assay::storage {

/// A service account's key file.
struct ServiceAccount {
  std::string email;
  std::string key_id;
  RsaKey key;
  std::string token_uri;
};

/// An OAuth2 access token, and who it is of.
struct GcsCredentials {
  std::string access_token;
  double expires = 0;                             ///< seconds since 1970
  std::optional<ServiceAccount> service_account;  ///< where one signs: it can sign URLs too
  std::string quota_project;
  std::string source;
};

using GcsAnswer = SourceAnswer<GcsCredentials>;

/// google.auth.default()'s order: the file named by GOOGLE_APPLICATION_CREDENTIALS, gcloud's
/// application_default_credentials.json (under CLOUDSDK_CONFIG, else ~/.config/gcloud), the metadata server.
Result<GcsCredentials> LoadGcsCredentials(const Environment& environment);

/// The token of a credentials file: a service account's (JWT, RS256), a user's (refresh token), that of an external
/// account (federated identity), or one of a service account whom another of them may impersonate.
Result<GcsCredentials> TokenOfFile(const Environment& environment, const std::string& path);
/// GCE_METADATA_HOST, else metadata.google.internal.
GcsAnswer FromGoogleMetadata(const Environment& environment);

}  // namespace assay::storage
