#include "storage/auth/rsa_key.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>

#include <algorithm>
#include <array>

#include "storage/integrity/checksum.h"

namespace assay::storage {
namespace {

using BioPointer = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Pointer = std::unique_ptr<X509, decltype(&X509_free)>;
using MdContextPointer = std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)>;

BioPointer Reader(std::string_view text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), &BIO_free};
}

// PEM's password callback: OpenSSL would ask at the terminal without one.
int GivePassphrase(char* buffer, int size, int, void* passphrase) {
  const auto& text = *static_cast<const std::string*>(passphrase);
  const int length = std::min(size, static_cast<int>(text.size()));
  std::copy_n(text.begin(), length, buffer);
  return length;
}

Status BadKey(std::string_view source, std::string_view why) {
  ERR_clear_error();
  return Status::InvalidArgument("cannot use the key of " + std::string(source) + ": " + std::string(why));
}

std::string Colons(std::string_view bytes, const char* digits) {
  std::string text;
  for (const char byte : bytes) {
    if (!text.empty()) {
      text += ':';
    }
    text += digits[static_cast<unsigned char>(byte) >> 4];
    text += digits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

X509Pointer ReadX509(std::string_view pem) {
  return {PEM_read_bio_X509(Reader(pem).get(), nullptr, nullptr, nullptr), &X509_free};
}

std::string_view Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<size_t>(size)};
}

}  // namespace

RsaKey::RsaKey(evp_pkey_st* key) : key_(key, &EVP_PKEY_free) {}

Result<RsaKey> RsaKey::FromPrivatePem(std::string_view pem, const std::string& passphrase, std::string_view source) {
  std::string secret = passphrase;
  EVP_PKEY* key = PEM_read_bio_PrivateKey(Reader(pem).get(), nullptr, &GivePassphrase, &secret);
  if (key == nullptr) {
    const bool encrypted = pem.find("ENCRYPTED") != std::string_view::npos;
    return BadKey(source, !encrypted           ? "it is no private key in PEM"
                          : passphrase.empty() ? "it is encrypted and no passphrase was given (set pass_phrase)"
                                               : "its passphrase is wrong");
  }
  RsaKey result(key);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
    return BadKey(source, "it is no RSA key");
  }
  return result;
}

Result<RsaKey> RsaKey::FromPublicPem(std::string_view pem, std::string_view source) {
  EVP_PKEY* key = PEM_read_bio_PUBKEY(Reader(pem).get(), nullptr, nullptr, nullptr);
  if (key == nullptr) {
    return BadKey(source, "it is no public key in PEM");
  }
  RsaKey result(key);
  if (EVP_PKEY_get_base_id(key) != EVP_PKEY_RSA) {
    return BadKey(source, "it is no RSA key");
  }
  return result;
}

Result<RsaKey> RsaKey::FromCertificatePem(std::string_view pem, std::string_view source) {
  const X509Pointer certificate = ReadX509(pem);
  EVP_PKEY* key = certificate != nullptr ? X509_get_pubkey(certificate.get()) : nullptr;
  if (key == nullptr) {
    return BadKey(source, "it is no certificate in PEM");
  }
  return RsaKey(key);
}

Result<RsaKey> RsaKey::Generate(int bits) {
  EVP_PKEY* key = EVP_RSA_gen(static_cast<unsigned int>(bits));
  if (key == nullptr) {
    return Status::Internal("cannot generate an RSA key");
  }
  return RsaKey(key);
}

Result<std::string> RsaKey::Sign(std::string_view text) const {
  const MdContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  std::string signature(static_cast<size_t>(EVP_PKEY_get_size(key_.get())), '\0');
  size_t size = signature.size();
  const bool signed_well = EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
                           EVP_DigestSign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                                          reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  if (!signed_well) {
    ERR_clear_error();
    return Status::Internal("cannot sign: the RSA key is not a private one");
  }
  signature.resize(size);
  return signature;
}

bool RsaKey::Verify(std::string_view text, std::string_view signature) const {
  const MdContextPointer context(EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const bool right =
      EVP_DigestVerifyInit(context.get(), nullptr, EVP_sha256(), nullptr, key_.get()) == 1 &&
      EVP_DigestVerify(context.get(), reinterpret_cast<const unsigned char*>(signature.data()), signature.size(),
                       reinterpret_cast<const unsigned char*>(text.data()), text.size()) == 1;
  ERR_clear_error();
  return right;
}

std::string RsaKey::PublicPem() const {
  const BioPointer bio(BIO_new(BIO_s_mem()), &BIO_free);
  PEM_write_bio_PUBKEY(bio.get(), key_.get());
  return std::string(Contents(bio.get()));
}

std::string RsaKey::Fingerprint() const {
  const BioPointer bio(BIO_new(BIO_s_mem()), &BIO_free);
  i2d_PUBKEY_bio(bio.get(), key_.get());
  const std::string_view der = Contents(bio.get());
  return Colons(ChecksumOf(ChecksumKind::kMd5, std::as_bytes(std::span(der))).value, "0123456789abcdef");
}

Result<CertificateFacts> ReadCertificate(std::string_view pem, std::string_view source) {
  const X509Pointer certificate = ReadX509(pem);
  if (certificate == nullptr) {
    return BadKey(source, "it is no certificate in PEM");
  }
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  X509_digest(certificate.get(), EVP_sha1(), digest.data(), &size);
  CertificateFacts facts;
  facts.sha1_fingerprint = Colons({reinterpret_cast<const char*>(digest.data()), size}, "0123456789ABCDEF");
  const X509_NAME* subject = X509_get_subject_name(certificate.get());
  for (int i = 0; i < X509_NAME_entry_count(subject) && facts.oci_tenancy.empty(); ++i) {
    const ASN1_STRING* data = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, i));
    const std::string_view text(reinterpret_cast<const char*>(ASN1_STRING_get0_data(data)),
                                static_cast<size_t>(ASN1_STRING_length(data)));
    for (const std::string_view prefix : {"opc-tenant:", "opc-identity:"}) {
      if (text.starts_with(prefix)) {
        facts.oci_tenancy = text.substr(prefix.size());
      }
    }
  }
  return facts;
}

}  // namespace assay::storage
