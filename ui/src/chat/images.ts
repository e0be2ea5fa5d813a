// Images that the user attaches to a message.

import type { ChatImage } from "../generated/types";

/** Media types that every provider takes. */
export const imageTypes: readonly string[] = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/** The largest image, in bytes. */
export const MAX_IMAGE_BYTES = 5_000_000;

/** The most images of a message. */
export const MAX_IMAGES = 10;

/** Why a file is not attached. */
export type ImageProblem = "type" | "size" | "count";

/** Reads files as images, after those that are attached already. */
export async function readImages(
  files: readonly File[],
  attached: number,
): Promise<{ images: ChatImage[]; problems: ImageProblem[] }> {
  const images: ChatImage[] = [];
  const problems: ImageProblem[] = [];
  for (const file of files) {
    const problem = problemOf(file, attached + images.length);
    if (problem === null) images.push({ mimeType: file.type, data: base64(new Uint8Array(await file.arrayBuffer())) });
    else problems.push(problem);
  }
  return { images, problems };
}

function problemOf({ type, size }: File, attached: number): ImageProblem | null {
  if (!imageTypes.includes(type)) return "type";
  if (size > MAX_IMAGE_BYTES) return "size";
  return attached >= MAX_IMAGES ? "count" : null;
}

/** Bytes that are encoded at a time: `fromCharCode` takes each as an argument. */
const CHUNK = 0x8000;

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) text += String.fromCharCode(...bytes.subarray(at, at + CHUNK));
  return btoa(text);
}

/** The address of an image within the page. */
export function imageAddress({ mimeType, data }: ChatImage): string {
  return `data:${mimeType};base64,${data}`;
}
