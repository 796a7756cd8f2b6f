package wssec

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
)

// xenc11 is the namespace of XML Encryption 1.1.
const xenc11NS = "http://www.w3.org/2009/xmlenc11#"

// contentCipher is how the content of an EncryptedData is encrypted: by AES, with
// the initialization vector in front, in GCM with the tag behind, or in CBC.
type contentCipher struct {
	uri string
	key int // bytes
	gcm bool
}

// contentCiphers are all that are known. What CBC says can be changed by anybody
// on the way: it needs a signature that covers it, and a partner that may use it.
var contentCiphers = [...]contentCipher{
	{xenc11NS + "aes256-gcm", 32, true},
	{xenc11NS + "aes192-gcm", 24, true},
	{xenc11NS + "aes128-gcm", 16, true},
	{xencNS + "aes256-cbc", 32, false},
	{xencNS + "aes192-cbc", 24, false},
	{xencNS + "aes128-cbc", 16, false},
}

func cipherOf(uri string) (contentCipher, bool) {
	for _, c := range contentCiphers {
		if c.uri == uri {
			return c, true
		}
	}
	return contentCipher{}, false
}

// Sizes that XML Encryption 1.1 fixes.
const (
	gcmNonce = 12
	gcmTag   = 16
)

// errContent is why content cannot be decrypted, whatever the cause.
var errContent = errors.New("the content cannot be decrypted")

// open decrypts. Of a CBC text whose padding is wrong it returns all blocks beside
// the error, so that the caller can go on as if it were right: how long a refusal
// takes must not tell what was wrong.
func (c contentCipher) open(key, data []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil || len(key) != c.key {
		return nil, errContent
	}
	if c.gcm {
		return openGCM(block, data)
	}
	return openCBC(block, data)
}

func openGCM(block cipher.Block, data []byte) ([]byte, error) {
	if len(data) < gcmNonce+gcmTag {
		return nil, errContent
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		return nil, errContent
	}
	plain, err := aead.Open(nil, data[:gcmNonce], data[gcmNonce:], nil)
	if err != nil {
		return nil, errContent
	}
	return plain, nil
}

// openCBC removes the padding of XML Encryption, whose last byte is its length
// and whose others are anything.
func openCBC(block cipher.Block, data []byte) ([]byte, error) {
	if len(data) < 2*aes.BlockSize || len(data)%aes.BlockSize != 0 {
		return nil, errContent
	}
	plain := make([]byte, len(data)-aes.BlockSize)
	cipher.NewCBCDecrypter(block, data[:aes.BlockSize]).CryptBlocks(plain, data[aes.BlockSize:])
	pad := int(plain[len(plain)-1])
	if subtle.ConstantTimeLessOrEq(1, pad)&subtle.ConstantTimeLessOrEq(pad, aes.BlockSize) == 0 {
		return plain, errContent
	}
	return plain[:len(plain)-pad], nil
}

// seal encrypts with a fresh initialization vector.
func (c contentCipher) seal(key, plain []byte) ([]byte, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	if c.gcm {
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		return aead.Seal(nil, nil, plain, nil), nil
	}
	pad := aes.BlockSize - len(plain)%aes.BlockSize
	out := make([]byte, aes.BlockSize, aes.BlockSize+len(plain)+pad)
	if _, err := rand.Read(out); err != nil {
		return nil, err
	}
	out = append(append(out, plain...), bytes.Repeat([]byte{byte(pad)}, pad)...)
	cipher.NewCBCEncrypter(block, out[:aes.BlockSize]).CryptBlocks(out[aes.BlockSize:], out[aes.BlockSize:])
	return out, nil
}

// decodeBase64 reads xsd:base64Binary, with white space anywhere.
func decodeBase64(text string) ([]byte, error) {
	data := make([]byte, 0, len(text))
	for _, c := range []byte(text) {
		if c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			data = append(data, c)
		}
	}
	n, err := base64.StdEncoding.Decode(data, data)
	return data[:n], err
}
