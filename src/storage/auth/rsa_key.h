// RSA keys: signatures with SHA-256 (PKCS #1 v1.5), as OCI and Google want them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct evp_pkey_st;

namespace assay::storage {

/// A private or public key. Immutable; may be used from any thread and copied cheaply.
class RsaKey {
 public:
  /// A private key in PEM (PKCS #1 or #8), encrypted with `passphrase` or not. `source` is named in errors.
  static Result<RsaKey> FromPrivatePem(std::string_view pem, const std::string& passphrase, std::string_view source);
  static Result<RsaKey> FromPublicPem(std::string_view pem, std::string_view source);
  /// The key that a certificate in PEM is about.
  static Result<RsaKey> FromCertificatePem(std::string_view pem, std::string_view source);
  static Result<RsaKey> Generate(int bits);

  /// The raw signature. Needs a private key.
  Result<std::string> Sign(std::string_view text) const;
  bool Verify(std::string_view text, std::string_view signature) const;
  /// SubjectPublicKeyInfo in PEM.
  std::string PublicPem() const;
  /// MD5 of the public key in DER, "20:3b:97:...": how OCI names keys.
  std::string Fingerprint() const;

 private:
  explicit RsaKey(evp_pkey_st* key);
  std::shared_ptr<evp_pkey_st> key_;
};

/// What instance principals need of a certificate.
struct CertificateFacts {
  std::string sha1_fingerprint;  ///< "AB:CD:..."
  std::string oci_tenancy;       ///< of "opc-tenant:" or "opc-identity:" in its subject; empty: none
};
Result<CertificateFacts> ReadCertificate(std::string_view pem, std::string_view source);

}  // namespace assay::storage
