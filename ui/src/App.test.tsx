import { fireEvent, render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";

import { App } from "./App";
import { someReport, TestPlatform } from "./test-platform";

describe("the window", () => {
  it("shows where the gateway is and what runs", async () => {
    render(<App platform={new TestPlatform(() => Promise.resolve(someReport))} />);
    expect(await screen.findByText("http://127.0.0.1:4242/mcp")).toBeTruthy();
    expect(screen.getByText("2 of 3")).toBeTruthy();
    expect(screen.getByText("14")).toBeTruthy();
  });

  it("reads again when something happened", async () => {
    const platform = new TestPlatform(() => Promise.resolve(someReport));
    render(<App platform={platform} />);
    await screen.findByText("14");
    platform.answer = () => Promise.resolve({ ...someReport, tools: 99 });
    platform.changed();
    expect(await screen.findByText("99")).toBeTruthy();
  });

  it("says what went wrong, keeps what it knew, and recovers on demand", async () => {
    const platform = new TestPlatform(() => Promise.resolve(someReport));
    render(<App platform={platform} />);
    await screen.findByText("14");
    platform.answer = () => Promise.reject(new Error("the core is gone"));
    platform.changed();
    expect((await screen.findByRole("alert")).textContent).toContain("the core is gone");
    expect(screen.getByText("14")).toBeTruthy();
    platform.answer = () => Promise.resolve({ ...someReport, tools: 15 });
    fireEvent.click(screen.getByRole("button", { name: "Try again" }));
    expect(await screen.findByText("15")).toBeTruthy();
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("speaks Chinese and goes dark when told to, and keeps that", async () => {
    const platform = new TestPlatform(() => Promise.resolve(someReport));
    render(<App platform={platform} />);
    await screen.findByText("14");
    fireEvent.change(screen.getByLabelText("Language"), { target: { value: "zh-CN" } });
    expect(screen.getByText("网关地址")).toBeTruthy();
    fireEvent.change(screen.getByLabelText("外观"), { target: { value: "dark" } });
    expect(document.documentElement.getAttribute("data-mantine-color-scheme")).toBe("dark");
    expect(document.documentElement.lang).toBe("zh-CN");
    expect(platform.kept).toEqual({ theme: "dark", language: "zh-CN" });
  });

  it("puts no style element into the page, which the content security policy would refuse", async () => {
    render(<App platform={new TestPlatform(() => Promise.resolve(someReport))} />);
    await screen.findByText("14");
    expect(document.querySelectorAll("style").length).toBe(0);
  });
});
